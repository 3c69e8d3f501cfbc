#!/bin/bash
# Takes docs/page-*.png, docs/time-*.png and docs/speedscope.png, screenshots of pages and of speedscope, with chromium:
#
#     bash docs/screenshots.sh
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
"$program" $symbols/words.data --symfs $symbols/files -o "$directory/code.html" --title words --embed source,code -q

# take NAME PAGE#FRAGMENT WIDTH,HEIGHT [OPTION...]
take() {
    local name=$1 page=$2 size=$3
    shift 3
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=10000 --window-size="$size" \
        --user-data-dir="$directory/browser" --screenshot="$PWD/docs/$name.png" "$@" "file://$page" 2>/dev/null
}
take page-flame "$directory/page.html" 1000,640
take page-functions "$directory/page.html#view=functions&function=foundry::v2::heap_phase" 1000,640 --force-dark-mode
take page-diff "$directory/diff.html" 1000,640
take page-code "$directory/code.html#view=functions&function=find" 1000,960

# The recordings of docs/time.md.
setup=$(sed -n '/^<!-- setup/,/^-->/p' docs/time.md | sed '1d;$d')
(cd "$directory" && PATH=$(dirname "$program"):$PATH && eval "$setup")
"$program" "$directory/perf.data" --symfs "$directory/root" --off-cpu -o "$directory/waits.html" --title server -q
"$program" "$directory/perf.data" --symfs "$directory/root" --weight latency --event cpu-clock -o "$directory/latency.html" --title server -q
"$program" "$directory/misses.data" --symfs "$directory/names" --ratio mpki -o "$directory/ratio.html" --title 'Cache misses' -q
"$program" "$directory/perf.data" --symfs "$directory/root" --span kmem:kmalloc..kmem:kmalloc -o "$directory/spans.html" --title server -q
"$program" "$directory/perf.data" --symfs "$directory/root" --weight bytes_alloc -o "$directory/bytes.html" --title server -q
take time-spans "$directory/spans.html#group=tid" 1000,400
take time-bytes "$directory/bytes.html" 1000,330
take time-waits "$directory/waits.html#group=tid" 1000,470
take time-latency "$directory/latency.html#view=info" 1000,420
take time-ratio "$directory/ratio.html" 1000,330

# speedscope opens a script that contains the profile.
[ -f target/tmp/clients/complete ] || sh tests/install-clients.sh target/tmp/clients
"$program" $symbols/cxx.data --symfs $symbols/files -o "$directory/foundry.speedscope.json" -q
printf 'speedscope.loadFileFromBase64("foundry.speedscope.json", "%s")' "$(base64 -w 0 "$directory/foundry.speedscope.json")" \
    > "$directory/profile.js"
speedscope=$PWD/target/tmp/clients/node_modules/speedscope/dist/release/index.html
take speedscope "$speedscope#localProfilePath=$directory/profile.js" 1000,520 --enable-unsafe-swiftshader
