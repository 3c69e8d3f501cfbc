#!/bin/bash
# Fuzzes every target, by default for three minutes each, starting from the committed corpus, and prints a table of execution
# counts: bash fuzz/soak.sh [SECONDS [TARGET...]]. Needs a nightly compiler and cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-180}
targets=("${@:2}")
((${#targets[@]})) || read -ra targets -d '' < <(cargo +nightly fuzz list) || true

# The library has almost no unsafe code: without a sanitizer, more inputs run in the same time.
options=(--sanitizer none --codegen-units 16)
cargo +nightly fuzz build "${options[@]}"

work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
TIMEFORMAT='%U %S'
printf '| target | inputs | inputs/s | new inputs kept | CPU s |\n|---|---|---|---|---|\n'
for target in "${targets[@]}"; do
    mkdir "$work/$target"
    read -ra limits < <(bash fuzz/limits.sh "$target")
    status=0
    {
        time cargo +nightly fuzz run "${options[@]}" "$target" "$work/$target" "tests/fuzzed/corpus/$target" -- \
            -max_total_time="$seconds" "${limits[@]}" -print_final_stats=1 -verbosity=0 \
            >"$work/log" 2>&1 || status=$?
    } 2>"$work/time"
    if ((status)); then
        tail -n 60 "$work/log" >&2
        printf '%s fails: the input is in fuzz/artifacts/%s\n' "$target" "$target" >&2
        exit 1
    fi
    metric() { sed -n "s/^stat::$1: *//p" "$work/log"; }
    read -r user system <"$work/time"
    printf '| `%s` | %s | %s | %s | %s |\n' "$target" "$(metric number_of_executed_units)" "$(metric average_exec_per_sec)" \
        "$(metric new_units_added)" "$(awk "BEGIN { print $user + $system }")"
done
