#!/bin/bash
# Writes recipes of package managers for a release: bash packaging/recipes.sh REPOSITORY_URL ARTIFACTS
#
# ARTIFACTS has the archives of packaging/build.sh, and gets PKGBUILD (Arch), perfconv.rb (Homebrew) and package.nix (Nix).
set -euo pipefail
repository=$1
artifacts=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
sum() {
    local archive=$artifacts/perfconv-$version-$1.tar.gz
    if [ ! -f "$archive" ]; then
        echo "error: $archive is missing" >&2
        return 1
    fi
    sha256sum -- "$archive" | cut -d ' ' -f 1
}
x86_64=$(sum x86_64-unknown-linux-musl)
aarch64=$(sum aarch64-unknown-linux-musl)
description=$(sed -n 's/^description = "\(.*\)"/\1/p' Cargo.toml)
for recipe in PKGBUILD perfconv.rb package.nix; do
    sed -e "s|@REPOSITORY@|$repository|g" -e "s|@VERSION@|$version|g" -e "s|@DESCRIPTION@|$description|g" \
        -e "s|@SHA256_X86_64@|$x86_64|g" -e "s|@SHA256_AARCH64@|$aarch64|g" "packaging/$recipe.in" >"$artifacts/$recipe"
done
