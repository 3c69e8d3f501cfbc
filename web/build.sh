#!/bin/bash
# Builds the npm package, the page and its single-file form: bash web/build.sh [DESTINATION]
#
# Needs Rust, clang 16 or later, Python 3.11, and Node.js with npm.
set -euo pipefail
cd "$(dirname "$0")/.."
destination=$(realpath -m "${1:-target/web}")
clang=$(compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -V | tail -n 1)
target=wasm32-wasip1

rustup target add $target >/dev/null 2>&1
# The C code of zstd needs no C library: it has what it needs of one.
export CC_wasm32_wasip1=$clang AR_wasm32_wasip1=${clang/clang/llvm-ar} CFLAGS_wasm32_wasip1="-ffreestanding -nostdlibinc"
# Without what pages do not need, for size: instructions, JSON as input, text of protobuf, commands for people at a terminal.
cargo build --quiet --profile wasm --target $target --bin perfconv --no-default-features --features cli,eventheader,syscalls
cargo build --quiet --profile wasm --target $target -p perfconv-wasm

cd web
npm install --silent --no-audit --no-fund
# What rustc's target uses beyond the first version of WebAssembly.
features=(--enable-bulk-memory --enable-multivalue --enable-mutable-globals --enable-nontrapping-float-to-int
    --enable-reference-types --enable-sign-ext)
optimize() { npx wasm-opt -Oz "${features[@]}" "../target/$target/wasm/$1.wasm" -o "perfconv/$2.wasm"; }
optimize perfconv perfconv
optimize perfconv-samples samples
node bundle.js "$destination"
cp ../LICENSE-* perfconv
python3 ../packaging/notices.py perfconv/THIRD-PARTY-NOTICES.txt --target $target
cp ../LICENSE-* "$destination"
# The pages contain the shim, which is beside the npm package.
cat perfconv/THIRD-PARTY-NOTICES.txt node_modules/@bjorn3/browser_wasi_shim/LICENSE-MIT > "$destination/THIRD-PARTY-NOTICES.txt"
npm pack --silent --workspace perfconv --pack-destination "$destination"
