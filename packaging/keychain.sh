#!/usr/bin/env bash
# keychain.sh: puts the certificate that signs releases into a keychain of its own, and unlocks it for codesign.
# SIGN_CERTIFICATE is the certificate with its key (.p12) in base64, SIGN_CERTIFICATE_PASSWORD its password.
set -euo pipefail
: "${SIGN_CERTIFICATE:?is not set}" "${SIGN_CERTIFICATE_PASSWORD:?is not set}"
folder=${RUNNER_TEMP:-$(mktemp -d)}
keychain=$folder/release.keychain-db
password=$(openssl rand -hex 24)
certificate=$folder/certificate.p12
trap 'rm -f "$certificate"' EXIT
(umask 077 && printf %s "$SIGN_CERTIFICATE" | openssl base64 -d -A > "$certificate")
security create-keychain -p "$password" "$keychain"
security set-keychain-settings -lut 7200 "$keychain"
security unlock-keychain -p "$password" "$keychain"
security import "$certificate" -k "$keychain" -P "$SIGN_CERTIFICATE_PASSWORD" -T /usr/bin/codesign
security set-key-partition-list -S apple-tool:,apple: -s -k "$password" "$keychain" > /dev/null
security list-keychains -d user -s "$keychain" login.keychain-db
