#!/usr/bin/env bash
# dmg.sh APP VERSION FOLDER: the disk image that people download: the app beside a link to the folder it belongs in.
set -euo pipefail
app=${1:?usage: dmg.sh APP VERSION FOLDER} version=${2:?no version} folder=${3:?no folder}
dmg=$folder/Tokbar-$version-arm64.dmg
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
ditto "$app" "$stage/Tokbar.app"
ln -s /Applications "$stage/Applications"
rm -f "$dmg"
hdiutil create -volname Tokbar -srcfolder "$stage" -fs HFS+ -format ULFO -ov "$dmg"
[ "${SIGN_IDENTITY:--}" = - ] || codesign --sign "$SIGN_IDENTITY" --timestamp "$dmg"
echo "$dmg"
