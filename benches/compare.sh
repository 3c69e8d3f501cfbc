#!/bin/bash
# Benchmarks whole processes on large recordings, each next to its counterpart in the same run. Prints the tables of
# docs/performance.md.
#
#   bash benches/compare.sh [MB [RUNS]]
#
# Inputs are recorded here (perf record -e cpu-clock -F 20000) and grown to MB (default 300); see inputs.sh. Each job runs RUNS
# (default 3) times, alternating with its counterpart; the tables show medians. A counterpart slower than 5 s runs once. A missing
# program is reported in its row. Needs disk space for about 12 times MB in the directory for temporary files.
set -euo pipefail
cd "$(dirname "$0")/.."
megabytes=${1:-300}
runs=${2:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benches/inputs.sh
source benches/measure.sh

cargo build --profile dist --quiet --bin perfconv --example grow
perfconv=$(realpath "${CARGO_TARGET_DIR:-target}")/dist/perfconv
grow=${perfconv%/*}/examples/grow
# Prefix of all outputs, which are removed between jobs.
out=$work/out

about_this_machine

# perf_to_profile and perf_converter are those of perf_data_converter. Functions are not looked up: no counterpart does.
printf '\n## Mixed load with mostly unique stacks\n\n'
if mixed "$((megabytes < 160 ? megabytes : 160))"; then
    heading
    job 'pprof' mixed "$perfconv $mixed --symbols no -f -o $out.pb.gz" 'perf_to_profile' \
        "perf_to_profile -i $mixed -o $out.other.pb.gz -f"
    job 'pprof' mixed "$perfconv $mixed --symbols no -f -o $out.pb.gz" 'perf script -F ip' "perf script -F ip -i $mixed"
    job 'as perf_to_profile' mixed "$perfconv $mixed --compat perf_to_profile -f -o $out.pb.gz" 'perf_to_profile' \
        "perf_to_profile -i $mixed -o $out.other.pb.gz -f"
    job 'quipper proto' mixed "$perfconv $mixed -f -o $out.pb_data" 'perf_converter' \
        "perf_converter -i $mixed -o $out.other -O proto"
    job 'JSON Lines' mixed "$perfconv $mixed -f -o $out.jsonl" 'perf script -D' "perf script -D -i $mixed"
    rm -rf "$mixed" "$out".* "$work"/load-*
fi
bases
printf '\n## Jobs, %s MB\n\n' "$megabytes"
grown deep "$megabytes"
heading
job 'scan: info --stats' deep "$perfconv info --stats $deep" 'cat' "cat $deep"
job 'copy of a file' deep "$perfconv rewrite $deep -f -o $out.data" 'perf inject' "perf inject -i $deep -o $out.perf"
job 'copy of a file' deep "$perfconv rewrite $deep -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'rewrite --sort' deep "$perfconv rewrite $deep --sort -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'rewrite --endian big' deep "$perfconv rewrite $deep --endian big -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'rewrite --compress' deep "$perfconv rewrite $deep --compress=1 -f -o $out.data" 'zstd -1' "zstd -1 -q -f $deep -o $out.perf"
job 'rewrite --build-ids' deep "$perfconv rewrite $deep --build-ids -f -o $out.data" 'perf inject -b' \
    "perf inject -b -i $deep -o $out.perf"
job 'rewrite --anonymize' deep "$perfconv rewrite $deep --anonymize -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'pprof' deep "$perfconv $deep --symbols no -f -o $out.pb.gz" 'perf script -F ip' "perf script -F ip -i $deep"
job 'quipper proto' deep "$perfconv $deep -f -o $out.pb_data" 'perf script -F ip' "perf script -F ip -i $deep"
job 'from a PerfDataProto' deep "$perfconv $out.pb_data -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'quipper text' deep "$perfconv $deep -t quipper-text -o /dev/null" 'perf script -F ip' "perf script -F ip -i $deep"
job 'from pprof' deep "$perfconv $out.pb.gz -f -o $out.data" 'perf script -F ip' "perf script -F ip -i $deep"
rm -rf "$out".*
job 'perf-json' deep "$perfconv $deep --symbols no -f -t perf-json -o $out.json" 'perf data convert' \
    "perf data convert --force --to-json $out.perf -i $deep"
job 'JSON Lines' deep "$perfconv $deep -f -o $out.jsonl" 'perf script -D' "perf script -D -i $deep"
job 'from JSON Lines' deep "$perfconv $out.jsonl -f -o $out.data" 'jq -c .' "jq -c . $out.jsonl"
rm -f "$out".*
job 'CSV tables' deep "$perfconv $deep --symbols no -f -t csv -o $out.tables" 'perf script -F ip' "perf script -F ip -i $deep"
rm -rf "$out".*
job 'rewrite --container pipe' deep "$perfconv rewrite $deep --container pipe -f -o $out.data" 'cp' "cp $deep $out.perf"
rm -f "$out".*
job 'rewrite --container dir' deep "$perfconv rewrite $deep --container dir -f -o $out.data" 'cp' "cp $deep $out.perf"
rm -rf "$out".*
job 'rewrite --sample-every 2' deep "$perfconv rewrite $deep --sample-every 2 -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'rewrite --perf-version 6.1' deep "$perfconv rewrite $deep --perf-version 6.1 -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'repair' deep "$perfconv repair $deep -f -o $out.data" 'cp' "cp $deep $out.perf"
job 'archive' deep "$perfconv archive $deep -f -o $out.tar.zst" 'zstd -3' "zstd -3 -q -f $deep -o $out.perf"
job 'dump' deep "$perfconv dump $deep" 'perf script -F ip' "perf script -F ip -i $deep"
rm -f "$out".*
cp "$deep" "$work/copy.data"
job 'pprof of two at once' deep "$perfconv convert $deep $work/copy.data --symbols no -f --out-dir $out.dir" 'pprof, -J 1' \
    "$perfconv convert $deep $work/copy.data --symbols no -J 1 -f --out-dir $out.one"
rm -rf "$work/copy.data" "$out".*
job 'diff with its copy' deep "$perfconv diff $deep $deep" 'cmp' "cmp $deep $deep"
job 'check' deep "$perfconv check $deep" 'perf script -F ip' "perf script -F ip -i $deep"
job 'merge of two' deep "$perfconv merge $deep $deep -f -o $out.data" 'cat of both' "cat $deep $deep"
job 'split --by event' deep "$perfconv split $deep --by event -f -o $out.parts" 'cp' "cp $deep $out.perf"
rm -rf "$deep" "$out".*

for kind in shallow processes dwarf; do
    grown $kind "$megabytes"
    job "pprof: $kind" $kind "$perfconv ${!kind} --symbols no -f -o $out.pb.gz" 'perf script -F ip' "perf script -F ip -i ${!kind}"
    rm -f "${!kind}" "$out".*
done

text
job 'from folded stacks' folded "$perfconv $folded -t perf.data --from folded -f -o $out.data" 'cat' "cat $folded"
job 'from perf script text' script "$perfconv $script -t perf.data --from perf-script -f -o $out.data" 'cat' "cat $script"
rm -rf "$folded" "$script" "$out".*

grown synthetic "$megabytes"
job 'synth' synthetic "$perfconv synth scenarios/callgraph.toml --scale $((megabytes * 3)) -f -o $out.data" 'cp' "cp $synthetic $out.perf"
job 'pprof: synthesized' synthetic "$perfconv $synthetic --symbols no -f -o $out.pb.gz" 'perf script -F ip' "perf script -F ip -i $synthetic"
rm -f "$synthetic" "$out".*

grown compressed "$megabytes"
job 'compressed: pprof' compressed "$perfconv $compressed --symbols no -f -o $out.pb.gz" 'perf script -F ip' \
    "perf script -F ip -i $compressed"
job 'compressed: --decompress' compressed "$perfconv rewrite $compressed --decompress -f -o $out.data" 'cp' \
    "cp $compressed $out.perf"
rm -f "$compressed" "$out".*
grown pipe "$megabytes"
job 'standard input: pprof' pipe "$perfconv - --symbols no -f -o $out.pb.gz < <(cat $pipe)" 'perf script -F ip' "perf script -F ip -i - < <(cat $pipe)"
grown compressed_pipe "$megabytes"
job 'compressed standard input: pprof' compressed_pipe "$perfconv - --symbols no -f -o $out.pb.gz < <(cat $compressed_pipe)" \
    'perf script -F ip' "perf script -F ip -i - < <(cat $compressed_pipe)"
rm -f "$pipe" "$compressed_pipe" "$out".*

printf '\n## How cost grows with size\n\n'
mixed 10 && mv "$mixed" "$work/mixed.base"
growth_heading
for size in 10 100 1000 2000; do
    grown deep $size
    growth "$size MB" 'info --stats' deep "$perfconv info --stats $deep"
    growth "$size MB" 'pprof' deep "$perfconv $deep --symbols no -f -o $out.pb.gz"
    growth "$size MB" 'rewrite --sort' deep "$perfconv rewrite $deep --sort -f -o $out.data"
    rm -f "$out".*
    growth "$size MB" 'JSON Lines' deep "$perfconv $deep -t jsonl -o /dev/null"
    growth "$size MB" 'quipper proto' deep "$perfconv $deep -t quipper -o /dev/null"
    rm -f "$deep"
    growth "$size MB" 'synth' deep "$perfconv synth scenarios/callgraph.toml --scale $((size * 3)) -f -o $out.data"
    rm -f "$out".*
    grown no_rounds $size
    growth "$size MB" 'pprof, no rounds' no_rounds "$perfconv $no_rounds --symbols no -f -o $out.pb.gz"
    rm -f "$no_rounds" "$out".*
    grown compressed_pipe $size
    growth "$size MB" 'pprof, compressed pipe' compressed_pipe "$perfconv - --symbols no -f -o $out.pb.gz < <(cat $compressed_pipe)"
    rm -f "$compressed_pipe" "$out".*
    if [[ -e $work/mixed.base ]]; then
        grown mixed $size
        growth "$size MB" 'pprof, mixed' mixed "$perfconv $mixed --symbols no -f -o $out.pb.gz"
        rm -f "$mixed" "$out".*
    fi
done
