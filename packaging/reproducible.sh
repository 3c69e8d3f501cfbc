#!/bin/bash
# Checks that a build can be repeated: bash packaging/reproducible.sh TARGET ARTIFACTS
#
# Builds the current commit again, in a clone in another-directory, and compares all files with those that packaging/build.sh wrote
# to ARTIFACTS.
set -euo pipefail
target=$1
artifacts=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git clone --quiet --no-local . "$work/another-directory"
CARGO_TARGET_DIR=$work/target bash "$work/another-directory/packaging/build.sh" "$target" "$work/out"
failed=0
for file in "$work"/out/*; do
    name=${file##*/}
    if cmp "$file" "$artifacts/$name"; then
        echo "same bytes: $name"
    else
        failed=1
    fi
done
exit "$failed"
