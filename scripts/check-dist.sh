#!/usr/bin/env bash
# Checks the archive that the target dist makes: that it is small, needs only
# libc and libm (glibc 2.36 or older symbols), and works wherever it is
# unpacked; prints its size and how long each tool takes to start.
#
#   scripts/check-dist.sh [ARCHIVE]     default: the one in build/release
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

max_bytes=30000000
max_start_ms=60
max_glibc=2.36

fail() {
  echo "check-dist: $*" >&2
  exit 1
}

archive="${1-}"
if [[ -z "$archive" ]]; then
  shopt -s nullglob
  archives=(build/release/mla-jit-*-x86_64-linux.tar.xz)
  ((${#archives[@]} == 1)) ||
    fail "requires one archive in build/release, but found ${#archives[@]}:" \
      "cmake --preset release && cmake --build --preset release --target dist"
  archive="${archives[0]}"
fi

size="$(stat -c %s "$archive")"
((size <= max_bytes)) || fail "$archive has $size bytes, more than $max_bytes"
echo "check-dist: $archive: $size bytes"

# A name with a space, far from the build: nothing may depend on the place.
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
place="$scratch/some where"
mkdir "$place"
tar -C "$place" -xJf "$archive"
root="$(echo "$place"/*)"
for file in README.md LICENSE bin/mla-opt bin/mla-jit; do
  [[ -f "$root/$file" ]] || fail "the archive lacks $file"
done

for tool in mla-opt mla-jit; do
  binary="$root/bin/$tool"
  dynamic="$(readelf -dW "$binary")"
  needed="$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic" | sort | tr '\n' ' ')"
  for library in $needed; do
    case "$library" in
      libc.so.6 | libm.so.6 | ld-linux-x86-64.so.2) ;;
      *) fail "$tool needs $library: only libc and libm may be dynamic" ;;
    esac
  done
  ! grep -qE '\((RPATH|RUNPATH)\)' <<<"$dynamic" || fail "$tool has a library path built in"
  ! readelf -SW "$binary" | grep -F .symtab >/dev/null || fail "$tool is not stripped"
  glibc="$(readelf -VW "$binary" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)"
  glibc="${glibc#GLIBC_}"
  [[ "$(printf '%s\n' "$glibc" "$max_glibc" | sort -V | tail -n 1)" == "$max_glibc" ]] ||
    fail "$tool needs glibc $glibc: at most $max_glibc"

  # The best of ten: what the tool takes, not what else the machine does.
  best=1000000
  for _ in {1..10}; do
    begin="$(date +%s%N)"
    env -i "$binary" --help >/dev/null
    took=$((($(date +%s%N) - begin) / 1000))
    ((took >= best)) || best=$took
  done
  ((best <= max_start_ms * 1000)) || fail "$tool takes $best us to start: at most $max_start_ms ms"
  printf 'check-dist: %s: %d bytes, needs %s(glibc %s), starts in %d.%d ms\n' \
    "$tool" "$(stat -c %s "$binary")" "$needed" "$glibc" $((best / 1000)) $((best / 100 % 10))
done

# One decode through each tool, with nothing in the environment.
cd "$place"
env -i "$root/bin/mla-jit" gen --out in.safetensors
env -i "$root/bin/mla-jit" run --tensors in.safetensors --check --out out.safetensors
[[ -s out.safetensors ]] || fail "mla-jit run wrote no output"
env -i "$root/bin/mla-jit" compile --emit problem >problem.mlir
env -i "$root/bin/mla-opt" --mla-problem-to-tile --mla-tile-to-host --mla-host-to-llvm \
  problem.mlir >lowered.mlir
grep -F llvm.func lowered.mlir >/dev/null || fail "mla-opt lowered no function"
echo "check-dist: both tools ran a decode from $root"
