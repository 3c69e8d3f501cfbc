#!/bin/bash
# Builds the wheel of the Python package: bash packaging/wheel.sh OUT
#
# PROGRAM is the program that it installs; without it, one is built. Requires maturin on the path.
set -euo pipefail
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

export CARGO_INCREMENTAL=0
profile=${PROFILE:-dist}
# Packages are built once and run often: optimized as a whole.
export CARGO_PROFILE_DIST_LTO=${CARGO_PROFILE_DIST_LTO:-fat} CARGO_PROFILE_DIST_CODEGEN_UNITS=${CARGO_PROFILE_DIST_CODEGEN_UNITS:-1}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
if [ -z "${PROGRAM-}" ]; then
    cargo build --locked --profile "$profile" --features debuginfod,parquet,push --bin perfconv
    PROGRAM=$CARGO_TARGET_DIR/$profile/perfconv
fi
rm -rf python/data
mkdir -p python/data/scripts
strip -o python/data/scripts/perfconv "$PROGRAM"
rm -rf python/licenses
mkdir -p python/licenses
cp LICENSE-APACHE LICENSE-MIT python/licenses
# An installation from the source has neither the program nor the notices, so that the project names them only here.
project=python/pyproject.toml
cp "$project" "$project.saved"
trap 'mv -f "$project.saved" "$project"' EXIT
sed -i -e 's|^license = .*|&\nlicense-files = ["licenses/*"]|' -e 's|^module-name = .*|&\ndata = "data"|' "$project"
python3 packaging/notices.py --wheel --target "$(rustc -vV | sed -n 's/^host: //p')" python/licenses/THIRD-PARTY-NOTICES.txt
maturin build --manifest-path python/Cargo.toml --profile "$profile" --out "$out"
