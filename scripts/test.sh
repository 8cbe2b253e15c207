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
results="$PWD/build/$preset/test-results.json"

cmake --preset "$preset"
cmake --build --preset "$preset"
rm -f "$results"
status=0
LIT_OPTS="${LIT_OPTS-} --output=$results" \
  cmake --build --preset "$preset" --target check-mla || status=$?

python3 - "$results" "$status" <<'PY'
import collections
import json
import sys

try:
    with open(sys.argv[1]) as file:
        tests = json.load(file)["tests"]
except OSError as error:
    sys.exit("test.sh: lit left no results: %s" % error)
kinds = {"PASS": "passed", "FLAKYPASS": "passed", "XFAIL": "passed",
         "UNSUPPORTED": "skipped", "SKIPPED": "skipped", "EXCLUDED": "skipped"}
totals = collections.Counter(kinds.get(test["code"], "failed") for test in tests)
print("%d passed, %d failed, %d skipped"
      % (totals["passed"], totals["failed"], totals["skipped"]))
sys.exit(int(sys.argv[2]) or (1 if totals["failed"] or not totals["passed"] else 0))
PY
