#!/bin/bash
# Takes docs/page-*.png, screenshots of a page, with chromium: bash docs/screenshots.sh
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(command -v perfconv) || { cargo build --release --quiet && program=$PWD/target/release/perfconv; }
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT
symbols=roundtrip/symbols
"$program" $symbols/cxx.data --symfs $symbols/files -o "$directory/page.html" --title foundry -q
"$program" rewrite $symbols/cxx.data --time 0%-60% -o "$directory/base.data" -q
"$program" $symbols/cxx.data --symfs $symbols/files -o "$directory/diff.html" --title 'foundry, compared with its first part' \
    --diff "$directory/base.data" -q

# take NAME PAGE#FRAGMENT WIDTH,HEIGHT [OPTION...]
take() {
    local name=$1 page=$2 size=$3
    shift 3
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=10000 --window-size="$size" \
        --user-data-dir="$directory/browser" --screenshot="$PWD/docs/page-$name.png" "$@" "file://$directory/$page" 2>/dev/null
}
take flame 'page.html' 1000,520
take functions 'page.html#view=functions&function=foundry::v2::heap_phase' 1000,520 --force-dark-mode
take diff 'diff.html' 1000,520
