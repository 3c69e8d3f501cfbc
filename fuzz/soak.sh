#!/bin/bash
# Fuzzes every target for some time, by default three minutes each, beginning with the committed inputs, and prints a table of how
# often each was run: bash fuzz/soak.sh [SECONDS]. Needs a nightly compiler and cargo-fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-180}

# The library has no code that could use memory wrongly unseen: without a sanitizer more is tried in the same time.
options=(--sanitizer none --codegen-units 16)
cargo +nightly fuzz build "${options[@]}"

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
TIMEFORMAT='%U %S'
printf '| target | inputs tried | a second | new inputs kept | CPU s |\n|---|---|---|---|---|\n'
for target in $(cargo +nightly fuzz list); do
    mkdir "$folder/$target"
    status=0
    {
        time cargo +nightly fuzz run "${options[@]}" "$target" "$folder/$target" "tests/fuzzed/corpus/$target" -- \
            -max_total_time="$seconds" -timeout=20 -max_len=20000 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
            >"$folder/log" 2>&1 || status=$?
    } 2>"$folder/time"
    if ((status)); then
        tail -n 60 "$folder/log" >&2
        printf '%s fails: the input is in fuzz/artifacts/%s\n' "$target" "$target" >&2
        exit 1
    fi
    told() { sed -n "s/^stat::$1: *//p" "$folder/log"; }
    read -r user system <"$folder/time"
    printf '| `%s` | %s | %s | %s | %s |\n' "$target" "$(told number_of_executed_units)" "$(told average_exec_per_sec)" \
        "$(told new_units_added)" "$(awk "BEGIN { print $user + $system }")"
done
