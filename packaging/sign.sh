#!/usr/bin/env bash
# sign.sh APP: signs an app for release, innermost code first, with the hardened runtime and no entitlement.
# SIGN_IDENTITY names the Developer ID certificate; "-" signs ad hoc, to try the app on this Mac only.
set -euo pipefail
app=${1:?usage: sign.sh APP}
identity=${SIGN_IDENTITY:?SIGN_IDENTITY is not set: the name of a Developer ID certificate, or -}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
options=(--force --options runtime --sign "$identity")
# Notarisation wants a time from Apple's server, which ad hoc signatures cannot carry.
[ "$identity" = - ] || options+=(--timestamp)
for code in "$app"/Contents/Frameworks/*.dylib "$app"/Contents/Helpers/*; do
  codesign "${options[@]}" "$code"
done
codesign "${options[@]}" --entitlements "$here/entitlements.plist" "$app"
codesign --verify --strict --deep --verbose=2 "$app"
