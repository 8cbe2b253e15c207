#!/usr/bin/env bash
# Builds everything and runs all tests.
#
#   scripts/test.sh [preset]           preset: ci (default), dev, asan or release
#   scripts/test.sh [preset] --long    instead the full counts of tests that are
#                                      cut short otherwise: minutes, with figures
#
# Closes with the runner's summary and the totals on a line of their own. Fails
# when a test fails, and also when none ran. LIT_OPTS are more arguments for lit;
# GTEST_FILTER chooses among the long tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=ci
long=no
for argument in "$@"; do
  case "$argument" in
    --long) long=yes ;;
    -*) echo "test.sh: unknown argument '$argument': only --long is known" >&2; exit 1 ;;
    *) preset="$argument" ;;
  esac
done
results="$PWD/build/$preset/test-results.xml"
rm -f "$results"

cmake --preset "$preset"
status=0
if [[ $long == yes ]]; then
  # The executable whose tests have long forms, named DISABLED_.
  cmake --build --preset "$preset" --target CInterfaceFailureTest
  GTEST_FILTER="${GTEST_FILTER-*DISABLED_*}" GTEST_OUTPUT="xml:$results" \
    "build/$preset/test/unit/CInterfaceFailureTest" --gtest_also_run_disabled_tests || status=$?
else
  cmake --build --preset "$preset"
  LIT_OPTS="${LIT_OPTS-} --xunit-xml-output=$results" \
    cmake --build --preset "$preset" --target check-mla || status=$?
fi

python3 - "$results" "$status" <<'PY'
import sys
import xml.etree.ElementTree

# lit's JSON leaves out tests that skipped themselves.
try:
    suites = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
except OSError as error:
    sys.exit("test.sh: no results were left: %s" % error)
totals = {kind: sum(int(suite.get(kind)) for suite in suites)
          for kind in ("tests", "failures", "skipped")}
totals["passed"] = totals["tests"] - totals["failures"] - totals["skipped"]
print("%(passed)d passed, %(failures)d failed, %(skipped)d skipped" % totals)
sys.exit(int(sys.argv[2]) or (1 if totals["failures"] or not totals["passed"] else 0))
PY
