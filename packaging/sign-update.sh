#!/usr/bin/env bash
# sign-update.sh APP VERSION FOLDER: the archive that the app's updater fetches, and its signature.
# UPDATE_KEY is the path of minisign's secret key; UPDATE_KEY_PASSWORD its password, empty for a key without one.
set -euo pipefail
app=${1:?usage: sign-update.sh APP VERSION FOLDER} version=${2:?no version} folder=${3:?no folder}
key=${UPDATE_KEY:?UPDATE_KEY is not set: the path of a secret key}
archive=$folder/Tokbar-$version-arm64.app.tar.gz
# Without the variable, a Mac's tar adds files of attributes that break the app's signature.
COPYFILE_DISABLE=1 tar -C "$(dirname "$app")" -czf "$archive" "$(basename "$app")"
if tar -tzf "$archive" | grep -qE '(^|/)\._'; then
  echo "error: $archive holds files of attributes (._*)" >&2
  exit 1
fi
# The version is in the part of the signature that cannot be changed, so that no old archive can be offered as a new one.
printf '%s\n' "${UPDATE_KEY_PASSWORD:-}" |
  minisign -S -s "$key" -m "$archive" -x "$archive.minisig" -t "version:$version file:$(basename "$archive")"
echo "$archive"
