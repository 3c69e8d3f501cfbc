/* Records a program with stack dumps and frame-pointer call chains in the same samples, which perf record cannot do:
   record_both OUT PERIOD PROGRAM [ARGUMENT...]. The recording has one event, and no features. */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 16384

int main(int argc, char **argv) {
    if (argc < 4) return fprintf(stderr, "usage: record_both OUT PERIOD PROGRAM [ARGUMENT...]\n"), 2;
    int start[2];
    if (pipe(start)) return perror("pipe"), 1;
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(start[1]);
        if (read(start[0], &byte, 1) == 1) execv(argv[3], argv + 3);
        _exit(127);
    }
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = atol(argv[2]),
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
                       PERF_SAMPLE_STACK_USER,
        .disabled = 1, .enable_on_exec = 1, .exclude_kernel = 1, .exclude_hv = 1, .exclude_callchain_kernel = 1, .mmap = 1,
        .mmap2 = 1, .comm = 1, .task = 1, .sample_id_all = 1, .sample_regs_user = 0xff0fff, .sample_stack_user = 2048,
    };
    int event = syscall(SYS_perf_event_open, &attr, child, -1, -1, 0);
    if (event < 0) return perror("perf_event_open"), 1;
    size_t page = sysconf(_SC_PAGESIZE);
    struct perf_event_mmap_page *buffer = mmap(0, (PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (buffer == MAP_FAILED) return perror("mmap"), 1;
    if (write(start[1], "", 1) != 1) return perror("write"), 1;
    waitpid(child, 0, 0);
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    uint64_t size = buffer->data_head;
    if (size > PAGES * page) return fprintf(stderr, "record_both: the buffer is full\n"), 1;
    /* struct perf_file_header, one perf_file_attr, data. */
    uint64_t header[13] = {0x32454c4946524550, 104, sizeof attr + 16, 104, sizeof attr + 16, 104 + sizeof attr + 16, size};
    uint64_t ids[2] = {104 + sizeof attr + 16, 0};
    FILE *out = fopen(argv[1], "w");
    if (!out) return perror(argv[1]), 1;
    fwrite(header, sizeof header, 1, out);
    fwrite(&attr, sizeof attr, 1, out);
    fwrite(ids, sizeof ids, 1, out);
    fwrite((char *)buffer + buffer->data_offset, size, 1, out);
    return fclose(out) ? 1 : 0;
}
