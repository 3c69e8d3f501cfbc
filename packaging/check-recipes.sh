#!/bin/bash
# Checks the recipes of a release with the package managers that are installed: bash packaging/check-recipes.sh ARTIFACTS
#
# ARTIFACTS has the archives and the output of packaging/recipes.sh. Nothing is downloaded.
set -euo pipefail
artifacts=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skipped=()

# Arch: builds the package from the archive, checks the checksum, and lists the files.
if command -v makepkg >/dev/null; then
    cp "$artifacts/PKGBUILD" "$artifacts/"perfconv-*.tar.gz "$work"
    build=(env CARCH=x86_64 PKGEXT=.pkg.tar.gz makepkg --nodeps)
    # makepkg refuses to run as root.
    if ((EUID == 0)); then
        chown -R nobody "$work"
        build=(runuser -u nobody -- env HOME="$work" "${build[@]}")
    fi
    (cd "$work" && "${build[@]}") >"$work/makepkg.log" 2>&1 || { cat "$work/makepkg.log" && exit 1; }
    tar tzf "$work"/perfconv-bin-*.pkg.tar.gz >"$work/files" 2>/dev/null
    for file in usr/bin/perfconv usr/share/man/man1/perfconv-report.1.gz usr/share/zsh/site-functions/_perfconv; do
        grep -qx "$file" "$work/files" || { echo "error: the Arch package lacks $file" >&2 && exit 1; }
    done
    echo "PKGBUILD: a package of $(grep -vc '/$' "$work/files") files"
else
    skipped+=(makepkg)
fi

# Nix: evaluates the package for both machines, with the functions of nixpkgs that it calls.
if command -v nix-instantiate >/dev/null; then
    for machine in x86_64 aarch64; do
        nix-instantiate --eval --strict --json -E "
            let package = import $artifacts/package.nix {
                lib.licenses = { mit = { }; asl20 = { }; };
                stdenv = { hostPlatform.system = \"$machine-linux\"; mkDerivation = attributes: attributes; };
                fetchurl = source: source;
                installShellFiles = null;
            };
            in { inherit (package) pname version src meta; }" 2>/dev/null >"$work/nix"
        sum=$(sha256sum "$artifacts"/perfconv-*-"$machine"-unknown-linux-musl.tar.gz | cut -d ' ' -f 1)
        grep -q "\"sha256\":\"$sum\",\"url\":\"[^\"]*-$machine-unknown-linux-musl.tar.gz\"" "$work/nix" ||
            { cat "$work/nix" && exit 1; }
    done
    echo "package.nix: evaluates for both machines"
else
    skipped+=(nix-instantiate)
fi

# Homebrew: only the syntax.
if command -v ruby >/dev/null; then
    echo "perfconv.rb: $(ruby -wc "$artifacts/perfconv.rb")"
else
    skipped+=(ruby)
fi
((${#skipped[@]} == 0)) || echo "skipped, because they are not installed: ${skipped[*]}"
