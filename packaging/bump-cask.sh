#!/usr/bin/env bash
# bump-cask.sh VERSION DMG: asks, in a pull request of this repository, for the cask of a release.
set -euo pipefail
version=${1:?usage: bump-cask.sh VERSION DMG} dmg=${2:?no disk image}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
sha256=$(shasum -a 256 "$dmg" | cut -d' ' -f1)
cargo xtask dist cask "$version" "$sha256"
branch=cask-$version
git switch --create "$branch"
git add packaging/Casks/tokbar.rb
git commit --message "Offer $version to Homebrew"
git push --force origin "$branch"
gh pr create --head "$branch" --title "Cask of $version" --body "SHA-256 of the disk image: $sha256"
