# Inputs of compare.sh, which sources this file: small recordings made with perf record and grown, and a synthetic one.

# Records the base recordings, a few megabytes each.
bases() {
    # Stacks of many depths, with frame pointers, like those of typical profiled programs.
    cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/fibonacci" -x c - <<'END'
static long fibonacci(long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
int main(void) {
    long sum = 0;
    for (long i = 0; i < 3000000; i++) sum += fibonacci(i % 12);
    return sum == 0;
}
END
    # Shallow stacks: nearly all time is spent two calls below main.
    cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/loop" -x c - <<'END'
__attribute__((noinline)) static long leaf(long n) {
    volatile long sum = 0;
    for (long i = 0; i < n; i++) sum += i ^ sum;
    return sum;
}
int main(void) {
    long sum = 0;
    for (long i = 0; i < 60000; i++) sum += leaf(i % 20000);
    return sum == 0;
}
END
    base deep -F 20000 -g -- "$work/fibonacci"
    base shallow -F 20000 -g -- "$work/loop"
    base processes -F 20000 -g -- sh -c 'for i in $(seq 300); do /bin/ls / >/dev/null; done'
    base dwarf -F 500 --call-graph dwarf -- "$work/fibonacci"
}

base() {
    local name=$1
    shift
    perf record -q -e cpu-clock -o "$work/$name.base" "$@" >/dev/null 2>&1
}

# Grows an input to a number of megabytes, and stores its path in a variable of the same name.
grown() {
    local name=$1 base=deep args=()
    case $name in
    no_rounds) args=(--no-rounds) ;;
    compressed) args=(--compress) ;;
    pipe) args=(--pipe) ;;
    compressed_pipe) args=(--compress --pipe) ;;
    *) base=$name ;;
    esac
    declare -g "$name=$work/$name.data"
    if [[ $name == synthetic ]]; then
        # A scale of 1 gives about a third of a megabyte.
        "$perfconv" synth scenarios/callgraph.toml --scale $(($2 * 3)) -q -f -o "$work/synthetic.data"
    else
        "$grow" "$work/$base.base" "$work/$name.data" --size "$2" "${args[@]}"
    fi
    # For compressed inputs, the size of the uncompressed records.
    declare -g "${name}_megabytes=$2"
    cat "$work/$name.data" >/dev/null
}

# Records a real load with mostly unique stacks: compiler, interpreters, compressors and short processes, most of whose code has no
# frame pointers. It needs g++, python3, perl, xz and binutils, and about a minute for 160 MB.
mixed() {
    declare -g mixed=$work/mixed.data mixed_megabytes=$1
    local program
    for program in g++ python3 perl xz objdump; do
        command -v $program >/dev/null && continue
        echo "warning: the mixed load needs $program; skipped" >&2
        return 1
    done
    perf record -q -e cpu-clock -F 20000 -g --max-size="${1}M" -o "$mixed" -- bash -c \
        'bash benches/mixed-load.sh "$0/load-1" & bash benches/mixed-load.sh "$0/load-2" & wait' "$work" >/dev/null 2>&1 || true
    pkill -f "mixed-load.sh $work" || true
    cat "$mixed" >/dev/null
}

# Creates the text inputs: folded stacks, mostly unique, and the perf script output of a base.
text() {
    declare -g folded=$work/folded.txt script=$work/script.txt folded_megabytes script_megabytes
    awk 'BEGIN { for (i = 0; i < 1500000; i++) print "program;main;loop_" i % 7 ";call_" i % 1000 ";leaf_" i % 90001, 1 + i % 3 }' \
        >"$folded"
    perf script -F comm,pid,tid,time,period,event,ip,sym,dso -i "$work/deep.base" >"$script" 2>/dev/null
    folded_megabytes=$(($(stat -c %s "$folded") >> 20)) script_megabytes=$(($(stat -c %s "$script") >> 20))
}
