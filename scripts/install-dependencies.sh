#!/usr/bin/env bash
# Installs what mla-jit needs to build and test on Debian 12 (bookworm).
#
#   scripts/install-dependencies.sh          install what is missing
#   scripts/install-dependencies.sh --check  install nothing; fail if a
#                                            package is missing or too old
#
# docs/dependencies.md says what each package is for. Safe to run again: when
# everything is there it only checks versions, and asks the network nothing.
set -euo pipefail

# The one place, with cmake/MLALLVM.cmake, that names the LLVM version.
llvm=22
cmake_min=3.25

packages=(
  "llvm-$llvm-dev" "libmlir-$llvm-dev" "mlir-$llvm-tools" "llvm-$llvm-tools"
  "clang-$llvm" "lld-$llvm" "libclang-rt-$llvm-dev" "clang-format-$llvm"
  cmake ninja-build ccache libgtest-dev
  zlib1g-dev libzstd-dev xz-utils python3 libllvm15
)

fail() {
  echo "install-dependencies: $*" >&2
  exit 1
}

check_only=no
case "${1-}" in
  "") ;;
  --check) check_only=yes ;;
  *) fail "unknown argument '$1': only --check is known" ;;
esac

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "requires Debian's apt-get: on another system install LLVM/MLIR $llvm" \
    "and the rest of docs/dependencies.md by hand"

missing=()
for package in "${packages[@]}"; do
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] ||
    missing+=("$package")
done

if ((${#missing[@]})); then
  [[ $check_only == no ]] || fail "missing: ${missing[*]}"
  root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "requires root, or sudo, to install: ${missing[*]}"
    root=(sudo)
  fi
  apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0)
  echo "install-dependencies: installing ${missing[*]}"
  "${apt[@]}" update
  for package in "${missing[@]}"; do
    apt-cache show "$package" >/dev/null 2>&1 ||
      fail "package $package is in none of apt's sources:" \
        "LLVM $llvm comes with the security suite of Debian 12 (bookworm-security)"
  done
  "${apt[@]}" install --no-install-recommends "${missing[@]}"
fi

# What was installed has to be what the build expects.
bin="/usr/lib/llvm-$llvm/bin"
llvm_version="$("$bin/llvm-config" --version)"
[[ "${llvm_version%%.*}" == "$llvm" ]] ||
  fail "requires LLVM $llvm, but $bin/llvm-config says $llvm_version"
for tool in mlir-tblgen clang++ FileCheck lit; do
  said="$("$bin/$tool" --version 2>&1)"
  [[ "$said" =~ (^|[^0-9.])$llvm\.[0-9]+\.[0-9]+ ]] ||
    fail "requires $tool $llvm, but $bin/$tool --version says: $said"
done
cmake_version="$(cmake --version | sed -n 's/^cmake version //p')"
[[ "$(printf '%s\n' "$cmake_min" "$cmake_version" | sort -V | head -n 1)" == "$cmake_min" ]] ||
  fail "requires cmake $cmake_min or newer, but got $cmake_version"

echo "install-dependencies: LLVM/MLIR $llvm_version, cmake $cmake_version: all there"
