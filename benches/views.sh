#!/bin/bash
# Benchmarks outputs that people look at, next to the programs that make them from perf script's text. Prints the table of
# docs/performance.md.
#
#   bash benches/views.sh [MB [RUNS]]
#
# The recording is that of the mixed load of inputs.sh, with MB (default 160). Each job runs RUNS (default 3) times, alternating
# with its counterpart; the table shows medians. A counterpart slower than 5 s runs once. All look up functions in the symbol tables
# of this machine, without inlined functions. A missing program is reported in its row: inferno is on crates.io, the scripts are
# those of FlameGraph; Debian's libdevel-nytprof-perl contains flamegraph.pl, in /usr/share/perl5/Devel/NYTProf.
set -euo pipefail
cd "$(dirname "$0")/.."
megabytes=${1:-160}
runs=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benches/inputs.sh
source benches/measure.sh

if [[ ! ${PERFCONV:-} ]]; then
    cargo build --release --quiet --bin perfconv
fi
perfconv=${PERFCONV:-$(realpath "${CARGO_TARGET_DIR:-target}")/release/perfconv}
out=$work/out

# A row whose counterpart is a pipe: piped NAME OUTPUT COLLAPSER [DRAWER].
piped() {
    local collapser=$3 drawer=${4:-cat} program
    local pipe="perf script --no-inline -i $mixed | $collapser | $drawer >$out.other"
    for program in "${collapser%% *}" "${drawer%% *}"; do
        command -v "$program" >/dev/null || pipe="$program"
    done
    printf '%s\n' "$pipe" >"$work/pipe.sh"
    # The first word names the program that must be installed.
    local theirs="bash $work/pipe.sh"
    [[ $pipe == perf\ * ]] || theirs=$pipe
    # Only the memory of the shell is known.
    job "$1" mixed "$perfconv $mixed --no-inline -q -f -o $out.$2" "perf script, $collapser${4:+, $4}" "$theirs" |
        sed 's/ [0-9]* \(|[^|]*|\)$/ \1/'
}

mixed "$megabytes"
about_this_machine
printf '\n'
heading
job 'perf script text' mixed "$perfconv $mixed --no-inline -t perf-script -q -o -" 'perf script' \
    "perf script --no-inline -i $mixed"
job 'perf script text, addresses' mixed "$perfconv $mixed --symbols no -t perf-script -F ip -q -o -" 'perf script -F ip' \
    "perf script -F ip -i $mixed"
piped 'folded stacks' folded inferno-collapse-perf
piped 'folded stacks' folded stackcollapse-perf.pl
piped 'flame graph' svg inferno-collapse-perf inferno-flamegraph
piped 'flame graph' svg inferno-collapse-perf flamegraph.pl
job 'report' mixed "$perfconv report $mixed --no-inline" 'perf report --stdio' "perf report --stdio -n -g none --no-inline -i $mixed"
job 'page' mixed "$perfconv $mixed --no-inline -q -f -o $out.html" 'perf report --stdio' \
    "perf report --stdio -n -g none --no-inline -i $mixed"
