#!/bin/bash
# Measures symbolization: functions, inlined functions and lines of addresses spread over the code of large objects, next to other
# programs. Prints the table of docs/performance.md.
#
#   bash benches/symbols.sh [UNITS]
#
# The objects: a C++ program of UNITS generated source files (default 8) with uncompressed and with compressed debug information,
# perfconv itself as built without optimization, and a library without debug information, the largest libLLVM installed. Of each,
# a small recording has 300 addresses, for all programs, and a large one 100,000. Each command runs once, for at most a minute. A
# cell shows wall-clock seconds, CPU seconds (user and system, with those of child processes), the peak resident memory in MiB, which
# includes mapped files, and the peak anonymous memory. Programs that are not installed have empty cells. OTHER_PERF, if set, is
# another perf to run.
set -euo pipefail
cd "$(dirname "$0")/.."
units=${1:-8}
limit=60
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source benches/measure.sh
source benches/program.sh

cargo build --release --quiet --bin perfconv
cargo build --quiet --bin perfconv
target=$(realpath "${CARGO_TARGET_DIR:-target}")
perfconv=${PERFCONV:-$target/release/perfconv}
perfparser=$(command -v hotspot-perfparser || ls /usr/lib/*/libexec/hotspot-perfparser 2>/dev/null || true)
pprof=$(command -v pprof || ls "$target/tmp/pprof" 2>/dev/null || true)
llvm=$(command -v llvm-symbolizer-16 || command -v llvm-symbolizer || true)

# Writes a recording with one sample at each of COUNT addresses of an object: recording NAME OBJECT COUNT. The addresses are also in
# NAME.addresses.
recording() {
    python3 - "$work/$1" "$2" "$3" <<'END'
import json, struct, sys

name, path, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = open(path, "rb").read()
headers, size, number = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
segments = [struct.unpack_from("<IIQQQQQQ", data, headers + i * size) for i in range(number)]
kind, flags, offset, address, _, length, _, _ = next(s for s in segments if s[0] == 1 and s[1] & 1)
skew = offset % 4096
offset, address, length = offset - skew, address - skew, length + skew  # A mapping begins at a page.
start = 0x555500000000
sections, (size, number, names) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HHH", data, 58)
table = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(number)]
texts = table[names][4]
text = next(s for s in table if data[texts + s[0]:].startswith(b".text\0"))
step = max(text[5] / count, 1)
addresses = sorted({text[3] + int(i * step) for i in range(count) if i * step < text[5]})
open(name + ".addresses", "w").write("".join(f"{a:#x}\n" for a in addresses))
attr = dict(stored=128, kind="SOFTWARE", size=128, config="0x0", sample_period=1,
            sample_type=["IP", "TID", "TIME", "CALLCHAIN"], read_format=[], flags=["MMAP", "COMM", "SAMPLE_ID_ALL", "MMAP2"],
            wakeup_events=0, bp_type=0, bp_addr="0x0", bp_len=0, branch_sample_type=[], sample_regs_user="0x0",
            sample_stack_user=0, clockid=0, sample_regs_intr="0x0", aux_watermark=0, sample_max_stack=0, reserved_2=0,
            aux_sample_size=0, aux_action=[], sig_data="0x0", config3="0x0", config4="0x0")
task = dict(pid=7, tid=7)
mapping = dict(task, addr=hex(start), len=(length + 4095) // 4096 * 4096, pgoff=hex(offset), prot=5, flags=2, filename=path,
               file=dict(inode=dict(maj=0, min=0, ino=0, ino_generation=0)))
with open(name + ".jsonl", "w") as out:
    write = lambda line: print(json.dumps(line), file=out)
    write(dict(perfconv=1, container="file", endian="little"))
    write(dict(attr=attr, ids=[1]))
    write(dict(record="COMM", body=dict(task, comm="program"), sample_id=dict(task=task, time=1)))
    write(dict(record="MMAP2", cpumode="USER", body=mapping, sample_id=dict(task=task, time=2)))
    for time, at in enumerate(addresses, 3):
        ip = hex(at - address + start)
        body = dict(ip=ip, task=task, time=time, callchain=dict(ips=["0xfffffffffffffe00", ip]))
        write(dict(record="SAMPLE", cpumode="USER", body=body))
    write(dict(end={}))
END
    "$perfconv" "$work/$1.jsonl" --symfs / --build-ids -q -o "$work/$1.data"
    rm "$work/$1.jsonl"
}

# A cell: wall-clock and CPU seconds, resident and anonymous memory of a command; its output is discarded.
cell() {
    python3 benches/cost.py $limit "$1" | awk '
        NF < 4 { printf " %s |", $0; exit }
        NF > 4 { printf " over %d s |", $1; exit }
        { printf " %s, %s, %s, %s |", $1, $2, $3, $4 }'
}

# A row: row OBJECT COUNT DESCRIPTION.
row() {
    local name=$1-$2 data=$work/$1-$2.data object=${objects[$1]}
    recording "$name" "$object" "$2"
    printf '| %s | %s |' "$3" "$(wc -l <"$work/$name.addresses")"
    cell "$perfconv $data -q -f --symfs / -o $work/out.pb.gz"
    cell "$perfconv $data -q -f --symbols no -o $work/out.pb.gz"
    if (($2 <= 1000)); then
        cell "perf script -f -i $data -F ip,sym,srcline"
        [[ ! ${OTHER_PERF:-} ]] || cell "$OTHER_PERF script -f -i $data -F ip,sym,srcline"
        if [[ $perfparser ]]; then cell "$perfparser --input $data --output /dev/null"; else printf ' |'; fi
        "$perfconv" "$data" -q -f --symbols no -o "$work/plain.pb.gz"
        if [[ $pprof ]]; then cell "$pprof -symbolize=local -proto -output=$work/pprof.pb.gz $work/plain.pb.gz"; else printf ' |'; fi
    else
        printf ' | | |'
        [[ ! ${OTHER_PERF:-} ]] || printf ' |'
    fi
    if [[ $llvm ]]; then cell "$llvm --inlines --demangle -e $object <$work/$name.addresses"; else printf ' |'; fi
    echo
    rm -f "$work/$name".*
}

program
objcopy --compress-debug-sections=zlib "$work/cxx" "$work/cxx-compressed"
declare -A objects=(
    [cxx]=$work/cxx
    [compressed]=$work/cxx-compressed
    [rust]=$target/debug/perfconv
    [llvm]=$(find /usr/lib -name 'libLLVM*.so*' -type f -size +40M -printf '%s %p\n' 2>/dev/null | sort -n | sed -n '$s/^[0-9]* //p')
)
megabytes() { echo "$(($(stat -c %s "${objects[$1]}") >> 20)) MiB"; }
about_this_machine
other=$([[ ! ${OTHER_PERF:-} ]] || printf ' %s |' "$("$OTHER_PERF" --version)")
printf '\n| object | addresses | perfconv | without symbols | perf script |%s hotspot-perfparser | pprof | llvm-symbolizer |\n' "$other"
printf '|---|---|---|---|---|%s---|---|---|\n' "${other:+---|}"
for count in 300 100000; do
    row cxx $count "C++, $(megabytes cxx)"
    row compressed $count "the same, compressed, $(megabytes compressed)"
    row rust $count "Rust, $(megabytes rust)"
    if [[ ${objects[llvm]} ]]; then row llvm $count "libLLVM, without debug information, $(megabytes llvm)"; fi
done
