#!/bin/bash
# Builds the fuzz targets for ClusterFuzzLite and OSS-Fuzz, each with its committed inputs and limits.
set -euo pipefail
cargo fuzz build --release --debug-assertions
for target in $(cargo fuzz list); do
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
    zip --quiet --junk-paths --recurse-paths "$OUT/${target}_seed_corpus.zip" "tests/fuzzed/corpus/$target"
    {
        echo "[libfuzzer]"
        bash fuzz/limits.sh "$target" | tr ' ' '\n' | sed 's/^-//; s/=/ = /'
    } >"$OUT/$target.options"
done
