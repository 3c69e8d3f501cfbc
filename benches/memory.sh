#!/bin/bash
# Peak anonymous memory and time of the main job on large recordings, beside perf script on the same files.
#
#   bash benches/memory.sh [MB [BASE]]
#
# Grows BASE, or a recording made here, to MB (1024) in three forms: with FINISHED_ROUND records, without them, and as a
# compressed pipe stream on standard input; the first also through JSON Lines and back, sorted, in the other byte order and
# compressed. Each copy in it is later, by other processes and at other addresses, so what is
# unique in it grows with it.
set -euo pipefail
cd "$(dirname "$0")/.."
megabytes=${1:-1024}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --release --quiet --bin perfconv --example grow
perfconv=target/release/perfconv
base=${2:-$work/base.data}
if [[ ! -e $base ]]; then
    # Stacks of many depths, with frame pointers, as those of the programs that are worth recording.
    cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/fibonacci" -x c - <<'END'
static long fibonacci(long n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
int main(void) {
    long sum = 0;
    for (long i = 0; i < 12000000; i++) sum += fibonacci(i % 12);
    return sum == 0;
}
END
    perf record -q -e cpu-clock -F 20000 -g -o "$base" -- "$work/fibonacci" >/dev/null
fi
grow() { "${perfconv%/*}/examples/grow" "$base" "$work/grown.data" --size "$megabytes" "$@"; }

# Runs a command with an input; prints a row of the table.
measure() {
    local name=$1 input=$2 peak=0 pid='' job key value
    shift 2
    rm -f "$work/pid"
    TIMEFORMAT='%R %U %S'
    { time bash -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$@" <"$input" >/dev/null 2>"$work/said"; } 2>"$work/time" &
    job=$!
    while kill -0 $job 2>/dev/null; do
        [[ -n $pid ]] || pid=$(cat "$work/pid" 2>/dev/null || true)
        while read -r key value _; do
            if [[ $key == RssAnon: ]] && ((value > peak)); then peak=$value; fi
        done 2>/dev/null <"/proc/${pid:-none}/status" || true
        sleep 0.01
    done
    wait $job || { cat "$work/said" >&2; return 1; }
    read -r wall user system <"$work/time"
    awk -v name="$name" -v peak=$peak -v wall="$wall" -v user="$user" -v sys="$system" \
        'BEGIN { printf "%-34s %9.1f %9.2f %9.2f\n", name, peak / 1024, wall, user + sys }'
    if [[ $1 == "$perfconv" && -e $work/out.pb.gz ]]; then
        cat "$work/said"
        echo "  the profile, which has all that is unique, unpacked: $(($(gzip -dc "$work/out.pb.gz" | wc -c) >> 20)) MiB"
    fi
}

printf '%-34s %9s %9s %9s\n' "$megabytes MB" 'anon MiB' 'wall s' 'CPU s'
for form in 'with rounds' 'without rounds' 'compressed pipe'; do
    case $form in
    'with rounds') grow ;;
    'without rounds') grow --no-rounds ;;
    'compressed pipe') grow --compress --pipe ;;
    esac
    cat "$work/grown.data" >/dev/null
    if [[ $form == 'compressed pipe' ]]; then
        measure "$form: perfconv" <(cat "$work/grown.data") "$perfconv" - -f -o "$work/out.pb.gz"
    else
        measure "$form: perfconv" /dev/null "$perfconv" "$work/grown.data" -f -o "$work/out.pb.gz"
    fi
    measure "$form: perf script -F ip" /dev/null perf script -F ip -i "$work/grown.data"
    rm -f "$work/out.pb.gz"
    if [[ $form == 'with rounds' ]]; then
        measure "$form: to JSON Lines" /dev/null "$perfconv" "$work/grown.data" -f -o "$work/out.jsonl"
        measure "$form: from JSON Lines" /dev/null "$perfconv" "$work/out.jsonl" -f -o "$work/again.data"
        cmp "$work/grown.data" "$work/again.data"
        rm "$work/out.jsonl" "$work/again.data"
        for change in --sort '--endian big' --compress; do
            # shellcheck disable=SC2086
            measure "$form: rewrite $change" /dev/null "$perfconv" rewrite "$work/grown.data" $change -f -o "$work/out.data"
            rm "$work/out.data"
        done
    fi
done
