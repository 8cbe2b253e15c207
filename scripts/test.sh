#!/usr/bin/env bash
# Builds everything and runs all tests.
#
#   scripts/test.sh [preset]     preset: ci (default), dev, asan or release
#
# Closes with lit's summary and the totals on a line of their own. Fails when a
# test fails, and also when none ran.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="${1:-ci}"
results="$PWD/build/$preset/test-results.xml"

cmake --preset "$preset"
cmake --build --preset "$preset"
rm -f "$results"
status=0
LIT_OPTS="${LIT_OPTS-} --xunit-xml-output=$results" \
  cmake --build --preset "$preset" --target check-mla || status=$?

python3 - "$results" "$status" <<'PY'
import sys
import xml.etree.ElementTree

# lit's JSON leaves out tests that skipped themselves.
try:
    suites = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
except OSError as error:
    sys.exit("test.sh: lit left no results: %s" % error)
totals = {kind: sum(int(suite.get(kind)) for suite in suites)
          for kind in ("tests", "failures", "skipped")}
totals["passed"] = totals["tests"] - totals["failures"] - totals["skipped"]
print("%(passed)d passed, %(failures)d failed, %(skipped)d skipped" % totals)
sys.exit(int(sys.argv[2]) or (1 if totals["failures"] or not totals["passed"] else 0))
PY
