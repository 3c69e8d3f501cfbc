#!/bin/bash
# Builds what a release offers for one target: bash packaging/build.sh TARGET OUT
#
# OUT gets perfconv-VERSION-TARGET.tar.gz with the program, its manual pages, completions, notices and list of dependencies, and
# perfconv_VERSION_ARCH.deb. The bytes depend on the source, the toolchain and SOURCE_DATE_EPOCH only.
set -euo pipefail
target=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

export CARGO_INCREMENTAL=0
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
profile=${PROFILE:-dist}
# Packages are built once and run often: optimized as a whole.
export CARGO_PROFILE_DIST_LTO=${CARGO_PROFILE_DIST_LTO:-fat} CARGO_PROFILE_DIST_CODEGEN_UNITS=${CARGO_PROFILE_DIST_CODEGEN_UNITS:-1}
mkdir -p "${CARGO_TARGET_DIR:-target}"
target_dir=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
# Paths of this machine stay out of the program.
export RUSTFLAGS="${RUSTFLAGS-} --remap-path-prefix=$PWD=/perfconv --remap-path-prefix=$target_dir=/target --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
export CFLAGS="${CFLAGS-} -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=/cargo"
# Packed relocations take a tenth of the size; linkers for Arm write them since binutils 2.43.
case $target in
x86_64-*) RUSTFLAGS+=" -C link-arg=-Wl,-z,pack-relative-relocs" ;;
esac

# Debian's cross compiler; the startup objects and the C library of musl are part of the Rust target.
if [ "$target" = aarch64-unknown-linux-musl ] && [ "$(uname -m)" != aarch64 ]; then
    export CC_aarch64_unknown_linux_musl=${CC_aarch64_unknown_linux_musl:-aarch64-linux-gnu-gcc}
    export AR_aarch64_unknown_linux_musl=${AR_aarch64_unknown_linux_musl:-aarch64-linux-gnu-ar}
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=$CC_aarch64_unknown_linux_musl
fi

# cargo-auditable stores the list of dependencies in the program, for scanners.
build=(cargo build)
if cargo auditable --version >/dev/null 2>&1; then
    build=(cargo auditable build)
else
    echo "note: cargo-auditable is missing; the program does not contain its list of dependencies" >&2
fi
"${build[@]}" --locked --profile "$profile" --target "$target" --features debuginfod,parquet,push --bin perfconv
built=$target_dir/$target/${profile/#dev/debug}

stage=$target_dir/package/$target
rm -rf "$stage"
mkdir -p "$stage/man" "$stage/completions"
command -v llvm-strip >/dev/null && strip=llvm-strip || strip=strip
case $target in
aarch64-*) command -v aarch64-linux-gnu-strip >/dev/null && strip=aarch64-linux-gnu-strip ;;
esac
# `.dep-v0` is the list of dependencies.
"$strip" --keep-section=.dep-v0 -o "$stage/perfconv" "$built/perfconv"
if [ "${build[1]}" = auditable ] && ! readelf -SW "$stage/perfconv" | grep -qF .dep-v0; then
    echo "error: the program does not contain its list of dependencies" >&2
    exit 1
fi

# The program writes its manual pages and completions itself; where it is for another machine, qemu runs it.
run=()
if ! "$stage/perfconv" --version >/dev/null 2>&1; then
    run=("qemu-${target%%-*}")
fi
perfconv() { "${run[@]}" "$stage/perfconv" "$@"; }
perfconv --version
perfconv man "$stage/man"
gzip -9n "$stage"/man/*.1
perfconv completions bash >"$stage/completions/perfconv.bash"
perfconv completions zsh >"$stage/completions/_perfconv"
perfconv completions fish >"$stage/completions/perfconv.fish"
perfconv completions nushell >"$stage/completions/perfconv.nu"
python3 packaging/notices.py "$stage/THIRD-PARTY-NOTICES.txt" --target "$target"
python3 packaging/sbom.py "$stage/perfconv.cdx.json" --target "$target"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$stage/"

name=perfconv-$version-$target
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX \
    --transform "s,^\.,$name," -C "$stage" -cf - . | gzip -9n >"$out/$name.tar.gz"
cp "$stage/perfconv.cdx.json" "$out/$name.cdx.json"
bash packaging/deb.sh "$stage" "$version" "$target" "$out"
(cd "$out" && sha256sum -- perfconv*)
