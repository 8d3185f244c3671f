#!/usr/bin/env bash
# notarise.sh FILE: has Apple check an app or a disk image, and attaches Apple's answer to it.
# NOTARY_KEY is the path of an App Store Connect API key (.p8), NOTARY_KEY_ID and NOTARY_ISSUER its id and issuer.
set -euo pipefail
file=${1:?usage: notarise.sh FILE}
: "${NOTARY_KEY:?is not set}" "${NOTARY_KEY_ID:?is not set}" "${NOTARY_ISSUER:?is not set}"
key=(--key "$NOTARY_KEY" --key-id "$NOTARY_KEY_ID" --issuer "$NOTARY_ISSUER")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sent=$file
if [ -d "$file" ]; then
  sent=$scratch/app.zip
  ditto -c -k --keepParent "$file" "$sent"
fi
xcrun notarytool submit "$sent" "${key[@]}" --wait --timeout 30m --output-format json > "$scratch/answer.json"
# The tool ends well even where Apple refuses: only the status counts.
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], ""))' "$scratch/answer.json" "$1"; }
status=$(field status) id=$(field id)
if [ "$status" != Accepted ]; then
  echo "error: Apple's answer for $file is \"$status\", not \"Accepted\"; its log:" >&2
  [ -z "$id" ] || xcrun notarytool log "$id" "${key[@]}" >&2 || true
  exit 1
fi
xcrun stapler staple "$file"
xcrun stapler validate "$file"
