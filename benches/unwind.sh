#!/bin/bash
# Measures the unwinding of user stack dumps, next to other programs. Prints the table of docs/performance.md.
#
#   bash benches/unwind.sh [SAMPLES]
#
# The recording: SAMPLES (default 12,000) of a C++ program with debug information, whose stacks pass through the recursion and the
# inlined functions of regular expressions, maps and sorting, with dumps of 8 KiB. Needs g++, and perf with permission to record.
#
# perfconv and the fast programs run three times, alternating; the table shows the run with the smallest CPU time. perf script with
# inlined functions runs once, for at most 10 minutes. PERF names another perf for the same rows, if set.
set -euo pipefail
cd "$(dirname "$0")/.."
samples=${1:-12000}
limit=600
runs=3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benches/measure.sh

target=$(realpath "${CARGO_TARGET_DIR:-target}")
perfconv=${PERFCONV:-$target/release/perfconv}
[[ ${PERFCONV:-} ]] || cargo build --release --quiet --bin perfconv
perfparser=$(command -v hotspot-perfparser || ls /usr/lib/*/libexec/hotspot-perfparser 2>/dev/null || true)

cat >"$work/walk.cpp" <<'END'
#include <algorithm>
#include <chrono>
#include <cstdlib>
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
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::atof(argv[1]));
    const std::regex pattern("(node[0-9]*[02468])/((leaf|inner)-([0-9]+))");
    unsigned seed = 1;
    std::size_t sum = 0;
    while (std::chrono::steady_clock::now() < end) {
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
perf record -q -e cpu-clock -F 1000 --call-graph dwarf,8192 -o "$work/dwarf.data" "$work/walk" "$((samples / 1000 + 1))" 2>/dev/null

# A row: row NAME RUNS COMMAND, where RUNS commands alternate with the others in `measure`.
declare -A best
measure() {
    local name=$1 cost
    cost=$(python3 benches/cost.py $limit "$2")
    if [[ ! ${best[$name]:-} ]] || awk -v a="$cost" -v b="${best[$name]}" 'BEGIN { split(a, x); split(b, y); exit !(x[2] < y[2]) }'; then
        best[$name]=$cost
    fi
}

data=$work/dwarf.data
convert="$perfconv $data -q -f -o $work/out.pb.gz"
for ((run = 0; run < runs; run++)); do
    measure 'perfconv' "$convert"
    measure 'perfconv `--no-inline`' "$convert --no-inline"
    measure 'perfconv `--no-unwind`' "$convert --no-unwind"
    measure 'perfconv `--symbols no`' "$convert --symbols no"
    [[ ! $perfparser ]] || measure 'hotspot-perfparser' "$perfparser --input $data --output /dev/null"
done
measure 'perf script `--no-inline`' "perf script -f -i $data -F ip,sym --no-inline"
measure 'perf script' "perf script -f -i $data -F ip,sym"
if [[ ${PERF:-} ]]; then
    measure "$("$PERF" --version)" "$PERF script -f -i $data -F ip,sym"
fi

about_this_machine
"$perfconv" "$data" -q -t perf-script --no-inline -o "$work/out.script"
awk -v size="$(($(stat -c %s "$data") >> 20))" '
    /^\t/ { frames++ } /^[^\t]/ { samples++ }
    END { printf "%d samples, %d MiB, %.1f frames each.\n", samples, size, frames / samples }' "$work/out.script"
printf '\n| program | wall s | CPU s | RSS MiB | anonymous MiB | CPU ratio |\n|---|---|---|---|---|---|\n'
for name in 'perfconv' 'perfconv `--no-inline`' 'perfconv `--no-unwind`' 'perfconv `--symbols no`' \
    'hotspot-perfparser' 'perf script `--no-inline`' 'perf script' "$([[ ! ${PERF:-} ]] || "$PERF" --version)"; do
    [[ ! ${best[$name]:-} ]] || awk -v name="$name" -v cost="${best[$name]}" -v ours="${best[perfconv]}" 'BEGIN {
        if (split(cost, c) < 4) { printf "| %s | %s | | | | |\n", name, cost; exit }
        split(ours, o)
        printf "| %s | %s | %s | %s | %s | %.1f |\n", name, c[1], c[2], c[3], c[4], c[2] / o[2]
    }'
done
