#!/bin/bash
# Measures the unwinding of user stack dumps, next to other programs. Prints the table of docs/performance.md.
#
#   bash benches/unwind.sh [SAMPLES]
#
# The recordings: about SAMPLES (default 12,000) of a small C++ program, whose stacks pass through the recursion and the inlined
# functions of regular expressions, maps and sorting; of a C++ program with much debug information, that of benches/symbols.sh, which
# runs many times; and of perfconv itself as built without optimization. The dumps have 8 KiB. Needs g++, and perf with permission to
# record.
#
# perfconv and hotspot-perfparser run three times, alternating; the table shows the run with the least CPU time. perf script runs
# once, for at most 2 minutes, and so do programs that take over 10 seconds. OTHER_PERF, if set, is another perf to run.
set -euo pipefail
cd "$(dirname "$0")/.."
samples=${1:-12000}
limit=120
runs=3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benches/measure.sh
source benches/program.sh
units=8

cargo build --quiet --bin perfconv
target=$(realpath "${CARGO_TARGET_DIR:-target}")
perfconv=${PERFCONV:-$target/release/perfconv}
[[ ${PERFCONV:-} ]] || cargo build --release --quiet --bin perfconv
perfparser=$(command -v hotspot-perfparser || ls /usr/lib/*/libexec/hotspot-perfparser 2>/dev/null || true)

program
mv "$work/cxx" "$work/templates"
cat >"$work/walk.cpp" <<'END'
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

struct Node {
    std::string name;
    std::vector<std::unique_ptr<Node>> children;
};

static std::unique_ptr<Node> tree(int depth, unsigned &seed) {
    auto node = std::make_unique<Node>();
    seed = seed * 1103515245 + 12345;
    node->name = "node" + std::to_string(seed >> 16) + (seed & 0x10000 ? "/leaf-" : "/inner-") + std::to_string(depth);
    for (int i = 0; depth > 0 && i < 3; i++) node->children.push_back(tree(depth - 1, seed));
    return node;
}

template <class Visit> static std::size_t walk(const Node &node, const Visit &visit) {
    std::size_t sum = visit(node);
    for (const auto &child : node.children) sum += walk(*child, visit);
    return sum;
}

int main(int, char **argv) {
    const std::regex pattern("(node[0-9]*[02468])/((leaf|inner)-([0-9]+))");
    unsigned seed = 1;
    std::size_t sum = 0;
    while (std::clock() < std::atol(argv[1]) * CLOCKS_PER_SEC / 1000) {
        const auto root = tree(6, seed);
        std::map<std::string, std::size_t> counts;
        sum += walk(*root, std::function<std::size_t(const Node &)>([&](const Node &node) {
            std::smatch match;
            if (std::regex_match(node.name, match, pattern)) counts[match[2]] += match[1].length();
            return node.children.size();
        }));
        std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
        std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
        sum += sorted.size();
    }
    return sum == 0;
}
END
g++ -std=c++17 -O2 -g "$work/walk.cpp" -o "$work/walk"

# Records a command with stack dumps: record NAME COMMAND...
record() {
    perf record -q -N -e cpu-clock -F 1000 --call-graph dwarf,8192 -o "$work/$1.data" -- "${@:2}" >/dev/null 2>&1 || true
}

# Measures a command, and keeps its cost if it is the lowest so far: measure PROGRAM COMMAND.
declare -A best
measure() {
    local program=$1 cost
    cost=$(python3 benches/cost.py $limit "$2")
    if [[ ! ${best[$program]:-} ]] ||
        awk -v new="$cost" -v old="${best[$program]}" 'BEGIN { split(new, n); split(old, o); exit !(n[2] < o[2]) }'; then
        best[$program]=$cost
    fi
}

# Whether a run of a program took over 10 seconds: is_slow PROGRAM.
is_slow() {
    awk -v cost="${best[$1]:-0}" 'BEGIN { exit !(cost + 0 > 10) }'
}

# A row: row PROGRAM.
row() {
    [[ ${best[$1]:-} ]] || return 0
    awk -v name="$1" -v cost="${best[$1]}" -v ours="${best[perfconv]}" 'BEGIN {
        if (split(cost, c) < 4) { printf "| %s | %s | | | | | |\n", name, cost; exit }
        split(ours, o)
        over = c[5] ? "over " : ""
        printf "| %s | %s%.2f | %s%.2f | %s | %s | %s%.1f | %s%.1f |\n", name, over, c[1], over, c[2], c[3], c[4], \
            over, c[1] / o[1], over, c[2] / o[2]
    }'
}

# The table of a recording: table NAME DESCRIPTION.
table() {
    local data=$work/$1.data convert run
    convert="$perfconv $data -q -f -o $work/out.pb.gz"
    best=()
    for ((run = 0; run < runs; run++)); do
        measure perfconv "$convert"
        measure 'perfconv `--no-unwind`' "$convert --no-unwind"
        measure 'perfconv `--no-inline`' "$convert --no-inline"
        measure 'perfconv `--symbols no`' "$convert --symbols no"
        [[ ! $perfparser ]] || is_slow hotspot-perfparser ||
            measure hotspot-perfparser "$perfparser --input $data --output /dev/null"
    done
    measure 'perf script `--no-inline`' "perf script -f -i $data -F ip,sym --no-inline"
    measure 'perf script' "perf script -f -i $data -F ip,sym"
    [[ ! ${OTHER_PERF:-} ]] || measure "$("$OTHER_PERF" --version)" "$OTHER_PERF script -f -i $data -F ip,sym"
    "$perfconv" "$data" -q -t perf-script --no-inline -o - | awk -v size="$(($(stat -c %s "$data") >> 20))" -v what="$2" '
        /^\t/ { frames++ } /^[^\t]/ { samples++ }
        END { printf "\n%s: %d samples, %d MiB, %.1f frames each.\n", what, samples, size, frames / samples }'
    printf '\n| program | wall s | CPU s | RSS MiB | anonymous MiB | wall ratio | CPU ratio |\n|---|---|---|---|---|---|---|\n'
    local program
    for program in perfconv 'perfconv `--no-unwind`' 'perfconv `--no-inline`' 'perfconv `--symbols no`' hotspot-perfparser \
        'perf script `--no-inline`' 'perf script' "$([[ ! ${OTHER_PERF:-} ]] || "$OTHER_PERF" --version)"; do
        row "$program"
    done
}

record cxx "$work/walk" "$samples"
record templates sh -c 'i=0; while [ $((i += 1)) -le "$1" ]; do "$0"; done' "$work/templates" "$((samples / 12))"
record rust timeout "$((samples / 1000))" bash -c 'while "$0" "$1" -q -f -o "$2"; do :; done' \
    "$target/debug/perfconv" "$work/cxx.data" "$work/out.pb.gz"
about_this_machine
table cxx "C++"
table templates "C++, $(($(stat -c %s "$work/templates") >> 20)) MiB with debug information"
table rust "Rust, $(($(stat -c %s "$target/debug/perfconv") >> 20)) MiB with debug information"
