#!/usr/bin/env bash
# Checks that all C++ is formatted as .clang-format says.
#
#   scripts/check-format.sh          name the files that are not; fail if any
#   scripts/check-format.sh --fix    format them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Another version formats differently in places, so only this one counts.
format=clang-format-22
command -v "$format" >/dev/null || {
  echo "check-format: requires $format: run scripts/install-dependencies.sh" >&2
  exit 1
}

mapfile -t files < <(find . \( -path './build*' -o -path ./.git \) -prune -o \
  -type f \( -name '*.cpp' -o -name '*.h' \) -print | sort)
if ((${#files[@]} == 0)); then
  echo "check-format: found no file to check" >&2
  exit 1
fi

case "${1-}" in
  --fix)
    "$format" -i "${files[@]}"
    ;;
  "")
    bad=()
    for file in "${files[@]}"; do
      "$format" --dry-run -Werror "$file" 2>/dev/null || bad+=("$file")
    done
    if ((${#bad[@]})); then
      printf 'check-format: not formatted: %s\n' "${bad[@]}" >&2
      echo "check-format: run scripts/check-format.sh --fix" >&2
      exit 1
    fi
    echo "check-format: ${#files[@]} files are clean"
    ;;
  *)
    echo "check-format: unknown argument '$1': only --fix is known" >&2
    exit 2
    ;;
esac
