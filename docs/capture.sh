#!/bin/bash
# Prints docs/capture.svg, a terminal in which perfconv converts a recording of the fixtures: bash docs/capture.sh > docs/capture.svg
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(command -v perfconv) || { cargo build --release --quiet && program=$PWD/target/release/perfconv; }
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT
"$program" roundtrip/fixtures/callgraph.data -o "$directory/perf.data" --dso loop-pie --set cmdline='perf record -e cpu-clock -g bin/loop-pie 800' --set hostname=build-server -q
touch -d @1700000000 "$directory/perf.data"
cd "$directory"

session() {
    local command
    for command in "$@"; do
        echo "\$ $command"
        PATH=$(dirname "$program"):$PATH TZ=UTC bash -c "$command" 2>&1
        echo
    done
}

session 'perfconv' 'perfconv -o out.pb.gz' 'perfconv rewrite perf.data -o first.data --time 0%-50% --compress' 'perfconv check first.data' |
    awk '
        { gsub(/&/, "\\&amp;"); gsub(/</, "\\&lt;"); gsub(/>/, "\\&gt;"); lines[NR] = $0; if (length($0) > columns) columns = length($0) }
        END {
            while (lines[NR] == "") NR--
            width = int(columns * 7.9) + 32; height = NR * 18 + 52
            printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n", width, height, width, height
            print "<title>A terminal: perfconv summarizes a recording, converts it to pprof, extracts half of it, and checks the result</title>"
            print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>"
            split("#ff5f56 #ffbd2e #27c93f", colours, " ")
            for (i = 1; i <= 3; i++) printf "<circle cx=\"%d\" cy=\"16\" r=\"5\" fill=\"%s\"/>\n", i * 18, colours[i]
            print "<g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#c8ccd4\" xml:space=\"preserve\">"
            for (i = 1; i <= NR; i++) {
                style = lines[i] ~ /^\$ / ? " fill=\"#98c379\" font-weight=\"bold\"" : ""
                if (lines[i] != "") printf "<text x=\"16\" y=\"%d\"%s>%s</text>\n", i * 18 + 30, style, lines[i]
            }
            print "</g>"
            print "</svg>"
        }'
