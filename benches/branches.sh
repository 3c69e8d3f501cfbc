#!/bin/bash
# Measures profiles for compilers and binary optimizers, next to the tools of LLVM. Prints the table of docs/performance.md.
#
#   bash benches/branches.sh RECORDING PROGRAM RECORDED-PATH [RECORDING PROGRAM RECORDED-PATH]...
#
# A recording has branch stacks of a program, which is here in the file PROGRAM. perfconv and its counterpart run three times,
# alternating, with the CPU time of perf script, which the counterparts run. LLVM is the version of their names, 22 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
llvm=${LLVM:-22}
runs=3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benches/measure.sh
perfconv=${PERFCONV:-$(realpath "${CARGO_TARGET_DIR:-target}")/dist/perfconv}
[[ ${PERFCONV:-} ]] || cargo build --profile dist --quiet --bin perfconv

about_this_machine
printf '\n'
heading
while (($# >= 3)); do
    recording=$1 program=$2 recorded=$3
    shift 3
    name=$(basename "$recorded")
    mkdir -p "$work/root$(dirname "$recorded")"
    cp "$program" "$work/root$recorded"
    branches_megabytes=$(($(stat -c %s "$recording") >> 20))
    ours="$perfconv $recording -f -q --symfs $work/root --binary $name"
    binary=$work/root$recorded
    job "$name: llvm" branches "$ours -t llvm -o $work/out.sampleprof" "llvm-profgen $llvm" \
        "llvm-profgen-$llvm --perfdata=$recording --binary=$binary --output=$work/other.sampleprof"
    job "$name: profgen" branches "$ours -t profgen -o $work/out.unsymbolized" "llvm-profgen $llvm --skip-symbolization" \
        "llvm-profgen-$llvm --perfdata=$recording --binary=$binary --skip-symbolization --output=$work/other.unsymbolized"
    job "$name: bolt" branches "$ours -t bolt -o $work/out.preagg" "perf2bolt $llvm" \
        "perf2bolt-$llvm -p $recording $binary -o $work/other.fdata"
done
