#!/usr/bin/env bash
# sign-update.sh APP VERSION FOLDER: the archive that the app's updater fetches, and its signature.
# The variables are those of sign-archive.sh.
set -euo pipefail
app=${1:?usage: sign-update.sh APP VERSION FOLDER} version=${2:?no version} folder=${3:?no folder}
archive=$folder/Tokbar-$version-arm64.app.tar.gz
# Without the variable, a Mac's tar adds files of attributes that break the app's signature.
COPYFILE_DISABLE=1 tar -C "$(dirname "$app")" -czf "$archive" "$(basename "$app")"
# Not in one pipe: a `grep` that stops at its first find would make `tar` fail.
names=$(tar -tzf "$archive")
if grep -qE '(^|/)\._' <<< "$names"; then
  echo "error: $archive holds files of attributes (._*)" >&2
  exit 1
fi
"$(dirname "${BASH_SOURCE[0]}")/sign-archive.sh" "$archive" "$version"
echo "$archive"
