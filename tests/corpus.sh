#!/bin/sh
# Records a program with the perf of this machine in many ways, for tests to read in addition to the fixtures:
#
#   sh tests/corpus.sh DIRECTORY
#   PERFCONV_CORPUS=DIRECTORY cargo test --test oracles
#
# One recording for each row of the matrix at the end. What this perf, kernel or user may not record is reported and omitted. Needs a
# C compiler, for the recorded program.
set -eu
out=${1:?a directory for the recordings}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME="$work" LC_ALL=C
unset DEBUGINFOD_URLS

# Recursive calls, a library function, page faults, children, threads and system calls.
cat >"$work/work.c" <<'PROGRAM'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sum;
__attribute__((noinline)) static void descend(int depth) {
    for (int i = 0; i < 20000; i++) sum += i * depth;
    if (depth) descend(depth - 1);
    sum++;
}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void *thread(void *name) {
    pthread_setname_np(pthread_self(), name);
    int *numbers = malloc(40000 * sizeof *numbers);
    for (int i = 0; i < 40000; i++) numbers[i] = i * 7919 % 40000;
    qsort(numbers, 40000, sizeof *numbers, compare);
    free(numbers);
    return NULL;
}
int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "child")) { descend(60); return 0; }
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, thread, "sorter one");
    pthread_create(&threads[1], NULL, thread, "sorter-2");
    for (int i = 0; i < 3; i++)
        if (!fork()) { execl(argv[0], argv[0], "child", (char *)0); _exit(1); }
    descend(100);
    while (wait(NULL) > 0) {}
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
PROGRAM
cc -O1 -g -fno-omit-frame-pointer -pthread "$work/work.c" -o "$work/work"

recorded=0
omitted=0
# record NAME ARGUMENTS...: a file, or a directory or pipe by its arguments.
record() {
    name=$1
    shift
    rm -rf "${out:?}/$name"
    case $name in
    *.pipe.data) perf record -q -o - "$@" -- "$work/work" >"$out/$name" 2>"$work/messages" && status=0 || status=$? ;;
    *) perf record -q -o "$out/$name" "$@" -- "$work/work" >/dev/null 2>"$work/messages" && status=0 || status=$? ;;
    esac
    if [ "$status" -eq 0 ] && [ -e "$out/$name" ]; then
        recorded=$((recorded + 1))
    else
        rm -rf "${out:?}/$name"
        omitted=$((omitted + 1))
        printf '%s: omitted: %s\n' "$name" "$(grep -v '^ *$' "$work/messages" | head -n 1)"
    fi
}

clock='-e cpu-clock -F 999'
for form in '' -g '--call-graph dwarf,4096' -d --phys-data '-d --data-page-size --code-page-size' -W -T -R -s --all-cgroups \
    --namespaces --sample-cpu --sample-identifier --no-buildid --buildid-all --buildid-mmap -k\ mono -m\ 1 --overwrite \
    --no-inherit --per-thread '--intr-regs=ip,sp,ax' '--user-regs=ip,sp' --switch-events --strict-freq --tail-synthesize; do
    name=$(printf 'clock%s' "$form" | tr -c 'A-Za-z0-9\n' '-')
    # shellcheck disable=SC2086
    record "$name.data" $clock $form
done
for event in task-clock page-faults minor-faults context-switches cpu-migrations dummy:u cycles instructions cycles:u cycles:ppp \
    cpu-clock:u cpu-clock:k 'sched:sched_switch' 'sched:*' 'raw_syscalls:*' 'syscalls:sys_enter_mmap' 'mmap_lock:*' 'exceptions:*'; do
    record "event-$(printf '%s' "$event" | tr -c 'a-z0-9_\n' '-').data" -e "$event" -c 1 -g
done
for event in cycles instructions cpu-clock; do
    record "period-$event.data" -e "$event" -c 250000
done
record two-events.data -e cpu-clock,page-faults
record group.data -e '{cpu-clock,page-faults,context-switches}' -F 999
record group-read.data -e '{cpu-clock,page-faults,context-switches}:S' -F 999
record lbr.data -e cycles:u -b
record system-wide.data -a $clock
record system-wide-g.data -a -g $clock
record compressed.data -z $clock -g
record compressed-9.data -z9 $clock -g
record aio.data --aio $clock -g
record threads.dir --threads $clock -a
record kcore.dir --kcore $clock -g
record plain.pipe.data $clock
record graph.pipe.data $clock -g
record compressed.pipe.data -z $clock -g
record tracepoints.pipe.data -e 'sched:sched_switch' -c 1

printf '%s recordings, %s omitted, in %s\n' "$recorded" "$omitted" "$out"
[ "$recorded" -gt 0 ]
