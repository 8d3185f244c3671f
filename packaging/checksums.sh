#!/usr/bin/env bash
# checksums.sh FOLDER: SHA-256 of every file in it, in SHA256SUMS, as `shasum -c` reads it.
set -euo pipefail
cd "${1:?usage: checksums.sh FOLDER}"
rm -f SHA256SUMS
for file in *; do
  [ ! -f "$file" ] || shasum -a 256 "$file"
done > sums.partial
grep -v ' sums\.partial$' sums.partial > SHA256SUMS || true
rm sums.partial
[ -s SHA256SUMS ] || { echo "error: no files in $PWD" >&2; exit 1; }
