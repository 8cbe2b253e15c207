#!/usr/bin/env bash
# Checks and times mla-jit on a machine with a GPU, from the repository root.
#
#   scripts/h200.sh [step ...]     default: verify bench
#
#   info       the machine, and a first decode
#   quick      verify --quick
#   verify     the whole suite against the reference
#   runtime    verify-runtime and bench --runtime: launches and kernels of the
#              C interface
#   bench      all configurations of bench/peers.json
#   compile    cold compilations by stage, entries one after the other and side
#              by side; then doctor
#   sanitize   compute-sanitizer's memcheck, racecheck and synccheck on
#              verify --subset; one of them: memcheck, racecheck, synccheck
#   peers      the program that MLA_PEERS names (kernels of others, which are no
#              part of this project), to compare within one run
#
# MLA_JIT       the tool (build/carry/mla-jit: a stripped static build)
# MLA_ARGUMENTS more arguments for verify and bench, as "--only h128"
# OUT           where full logs and JSON go (build/h200)
#
# Prints short tables only. Fails if a step failed; the others run all the same.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool="${MLA_JIT:-build/carry/mla-jit}"
out="${OUT:-build/h200}"
read -ra more <<<"${MLA_ARGUMENTS-}"
status=0
# The driver keeps what it assembled, which would make compile times look like
# nothing.
export CUDA_CACHE_DISABLE=1

if [[ ! -x "$tool" ]]; then
  echo "h200.sh: requires the tool $tool, but it is not there: build the release preset and copy it" >&2
  exit 2
fi
mkdir -p "$out"

# run NAME SECONDS COMMAND...: the log goes to a file; keeps the exit status.
run() {
  local name="$1" limit="$2"
  shift 2
  echo "== $name"
  local start=$SECONDS code=0
  timeout "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  ((code == 124)) && echo "not done within $limit s"
  ((code != 0)) && status=1
  echo "$name: exit $code after $((SECONDS - start)) s" >>"$out/$name.log"
  return 0
}

# Failures with their reasons, what is not supported, and the totals.
verify() {
  run "$1" "$2" "$tool" verify --target cuda --json "$out/$1.json" "${@:3}" "${more[@]}"
  grep -A1 -E ' FAILED$' "$out/$1.log" | grep -v '^--' | cut -c1-200 | head -40
  sed -n '/^not supported/,$p' "$out/$1.log" | cut -c1-300 | head -30
  grep -E 'passed, .* failed|error:' "$out/$1.log"
  tail -1 "$out/$1.log"
}

sanitize() {
  run "$1" 550 compute-sanitizer --tool "$1" --error-exitcode 9 \
    "$tool" verify --target cuda --subset "${more[@]}"
  grep -E '^=========' "$out/$1.log" | cut -c1-160 | head -20
  grep -E ' FAILED$|passed, .* failed|error:' "$out/$1.log" | cut -c1-200
  tail -1 "$out/$1.log"
}

for step in "${@:-verify bench}"; do
  for name in $step; do
    case "$name" in
    info)
      nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.draw --format=csv
      run info 60 "$tool" run --target cuda --check
      tail -20 "$out/info.log"
      ;;
    quick) verify quick 300 --quick ;;
    verify) verify verify 550 ;;
    runtime)
      run verify-runtime 400 "$tool" verify-runtime --json "$out/verify-runtime.json"
      cut -c1-200 "$out/verify-runtime.log"
      for target in host cuda; do
        run "bench-runtime-$target" 120 "$tool" bench --runtime --target "$target" --json "$out/bench-runtime-$target.json"
        cut -c1-160 "$out/bench-runtime-$target.log"
      done
      ;;
    bench)
      run bench 300 "$tool" bench --target cuda --configs bench/peers.json --json "$out/bench.json" "${more[@]}"
      tail -80 "$out/bench.log" | cut -c1-160
      ;;
    compile)
      run compile-in-turn 120 "$tool" bench --target cuda --compile --compile-threads 1
      run compile-side-by-side 120 "$tool" bench --target cuda --compile
      run doctor 60 "$tool" doctor --target cuda
      for log in compile-in-turn compile-side-by-side doctor; do
        cut -c1-160 "$out/$log.log"
      done
      ;;
    memcheck | racecheck | synccheck) sanitize "$name" ;;
    sanitize)
      for check in memcheck racecheck synccheck; do
        sanitize "$check"
      done
      ;;
    peers)
      if [[ -n "${MLA_PEERS-}" ]]; then
        run peers 300 "$MLA_PEERS"
        tail -60 "$out/peers.log" | cut -c1-160
      else
        echo "== peers: skipped, MLA_PEERS names no program"
      fi
      ;;
    *)
      echo "h200.sh: requires info, quick, verify, runtime, bench, compile, sanitize, memcheck, racecheck, synccheck or peers, but got '$name'" >&2
      exit 2
      ;;
    esac
  done
done
exit $status
