#!/usr/bin/env bash
# sign-archive.sh ARCHIVE VERSION: minisign's signature of an update, beside it as ARCHIVE.minisig.
# UPDATE_KEY is the path of minisign's secret key; UPDATE_KEY_PASSWORD its password, empty for a key without one.
# TOKBAR_UPDATE_KEY is the public half that the app was built with, against which the signature is checked.
set -euo pipefail
archive=${1:?usage: sign-archive.sh ARCHIVE VERSION} version=${2:?no version}
key=${UPDATE_KEY:?UPDATE_KEY is not set: the path of a secret key}
public=${TOKBAR_UPDATE_KEY:?TOKBAR_UPDATE_KEY is not set: the public key that the app has}
# The version is in the part of the signature that cannot be changed, so that no old archive can be offered as a new one.
# The updater reads fields between tabs.
comment=$(printf 'version:%s\tfile:%s' "$version" "$(basename "$archive")")
# Not through a pipe: a key without a password is not asked for one, and whoever writes to nobody fails.
minisign -S -s "$key" -m "$archive" -x "$archive.minisig" -t "$comment" <<< "${UPDATE_KEY_PASSWORD:-}"
minisign -V -P "$public" -m "$archive" -x "$archive.minisig"
