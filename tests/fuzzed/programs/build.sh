#!/bin/bash
# Builds the object files that the fuzz target `object` changes: bash tests/fuzzed/programs/build.sh. Needs the compilers of Debian 12
# below. The files are committed, so that the committed inputs of the target mean the same everywhere.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cp source.cpp gotable.s "$work"
directory=$PWD
cd "$work"
flags="-O2 -g -nostdlib -fno-ident -fno-exceptions -ffile-prefix-map=$work=."

g++ $flags -gdwarf-5 -static source.cpp -o dwarf5
# A shared library with a procedure linkage table, in 32 bits, with compressed sections.
clang-16 --target=i686-linux-gnu $flags -gdwarf-4 -gz=zlib -shared -fPIC -fuse-ld=lld source.cpp -o dwarf4_32
# Big-endian.
clang-16 --target=s390x-linux-gnu $flags -gdwarf-4 -c source.cpp -o big_endian.o
s390x-linux-gnu-ld -static big_endian.o -o big_endian
# Its symbols are in a compressed section, as distributions build programs. Without checksums, its changed parts are still read.
g++ $flags -static source.cpp -o debugdata
objcopy --only-keep-debug debugdata debugdata.debug
objcopy --strip-debug debugdata.debug minimal
xz --check=none -k minimal
strip debugdata
objcopy --add-section .gnu_debugdata=minimal.xz debugdata
# Relocatable, as kernel modules are.
g++ $flags -gdwarf-5 -ffunction-sections -c source.cpp -o relocatable
# Split DWARF, packaged.
g++ $flags -gdwarf-5 -gsplit-dwarf -static source.cpp -o split
llvm-dwp-16 -e split -o split.dwp
gcc -nostdlib -static gotable.s -o gotable
for file in dwarf5 dwarf4_32 big_endian debugdata relocatable split split.dwp gotable; do
    install -m 644 "$file" "$directory/$file.elf"
done
