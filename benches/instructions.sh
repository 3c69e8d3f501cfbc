#!/bin/bash
# Compares the instructions that this commit and an earlier one execute, and fails if any job needs 3 % more. Counts of valgrind do
# not depend on the load of the machine; both commits are built with the same compiler.
#
#   bash benches/instructions.sh [BASE]
#
# BASE is a commit [default: the parent]. Needs valgrind, and twice the time of a release build.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$(git rev-parse --verify "${1:-HEAD~1}^{commit}")
limit=1.03
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"

CARGO_TARGET_DIR=$work/target cargo build --release --quiet --bin perfconv --manifest-path "$work/base/Cargo.toml"
cp "$work/target/release/perfconv" "$work/before"
CARGO_TARGET_DIR=$work/target cargo build --release --quiet --bin perfconv
after=$work/target/release/perfconv

# Both read the same recording.
"$after" synth scenarios/callgraph.toml --scale 30 -q -o "$work/in.data"

instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | awk '/Collected/ { print $NF }'
}
failed=0
job() {
    local name=$1 count_before count_after ratio
    shift
    count_before=$(instructions "$work/before" "$@")
    count_after=$(instructions "$after" "$@")
    ratio=$(awk -v a="$count_after" -v b="$count_before" 'BEGIN { printf "%.3f", a / b }')
    printf '| %s | %s | %s | %s |\n' "$name" "$count_before" "$count_after" "$ratio"
    awk -v ratio="$ratio" -v limit=$limit 'BEGIN { exit !(ratio > 0 && ratio <= limit) }' || failed=1
}
printf '| job | instructions before (%s) | now | ratio |\n|---|---|---|---|\n' "${base:0:9}"
out=$work/out
job 'pprof' "$work/in.data" --symbols no -J 1 -f -q -o "$out.pb.gz"
job 'perf script text' "$work/in.data" --symbols no -J 1 -f -q -t perf-script -o "$out.txt"
job 'JSON Lines' "$work/in.data" -J 1 -f -q -o "$out.jsonl"
job 'copy, decoded' rewrite "$work/in.data" --endian big -f -q -o "$out.data"
if ((failed)); then
    echo "error: a job needs more than $limit times the instructions of $base" >&2
    exit 1
fi
