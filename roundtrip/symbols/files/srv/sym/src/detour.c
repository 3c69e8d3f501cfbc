/* Runs code that unwinders get wrong: a signal handler on an alternate stack, a cold part of a function, the procedure
   linkage table, and the vDSO. Each function below run is called from one place. */
#include <elf.h>
#include <signal.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

long step(long value);

static volatile long sink;
static int (*vdso_clock)(clockid_t, struct timespec *);
static char alternate[16384];

static long call(long number, long a, long b, long c, long d) {
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return result;
}

/* As in a C library, it has no name and no unwinding information: the kernel returns here. */
__asm__(".text\n.type restore, @function\nrestore: mov $15, %eax\nsyscall\n.size restore, . - restore\n");
extern void restore(void);

NOINLINE static void handle_long(long rounds) {
    for (long i = 0; i < rounds; i++) sink += i ^ sink;
}

NOINLINE static void handle(int number) {
    handle_long(number * 40000);
    sink++;
}

/* The kernel interrupts the loop while the stack pointer is moved by pushes. */
NOINLINE static void interrupted(long pid) {
    for (int i = 0; i < 40; i++) {
        call(62, pid, SIGUSR1, 0, 0);
        sink++;
    }
}

__attribute__((cold)) NOINLINE static void fail(long value) {
    for (long i = 0; i < value; i++) sink ^= i;
}

/* GCC moves the branch that calls a cold function to detour_cold.cold. */
NOINLINE static void detour_cold(long value) {
    if (value > 7) {
        for (long i = 0; i < 3000; i++) {
            fail(value * 300);
            sink -= i;
        }
        fail(value * 2000);
        sink++;
    }
    sink += value;
}

NOINLINE static void through_table(long rounds) {
    long value = 1;
    for (long i = 0; i < rounds; i++) value = step(value);
    sink += value;
}

NOINLINE static void read_clock(long rounds) {
    struct timespec now;
    for (long i = 0; i < rounds; i++) {
        vdso_clock(CLOCK_MONOTONIC, &now);
        sink += now.tv_nsec;
    }
}

NOINLINE static void find_vdso(const char *image) {
    const Elf64_Ehdr *header = (const void *)image;
    const Elf64_Phdr *segment = (const void *)(image + header->e_phoff);
    const Elf64_Dyn *entry = 0;
    for (int i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_DYNAMIC) entry = (const void *)(image + segment[i].p_offset);
    const Elf64_Sym *symbol = 0;
    const char *names = 0;
    for (; entry->d_tag; entry++) {
        if (entry->d_tag == DT_SYMTAB) symbol = (const void *)(image + entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) names = image + entry->d_un.d_ptr;
    }
    for (symbol++;; symbol++) {
        const char *name = names + symbol->st_name, *wanted = "__vdso_clock_gettime";
        while (*name && *name == *wanted) name++, wanted++;
        if (*name == *wanted) break;
    }
    vdso_clock = (void *)(image + symbol->st_value);
}

__attribute__((noinline, used)) static void run(long *stack) {
    long *word = stack + 1 + stack[0] + 1;
    while (*word++) {}
    while (word[0] != AT_SYSINFO_EHDR) word += 2;
    find_vdso((const char *)word[1]);
    stack_t other = {.ss_sp = alternate, .ss_size = sizeof alternate};
    call(131, (long)&other, 0, 0, 0);
    struct { void *handler; unsigned long flags; void *restorer; unsigned long mask; } action =
        {handle, SA_ONSTACK | 0x04000000, restore, 0};
    call(13, SIGUSR1, (long)&action, 0, 8);
    for (long i = 0; i < 6; i++) {
        interrupted(call(39, 0, 0, 0, 0));
        detour_cold(i + 9);
        through_table(6000000);
        read_clock(500000);
        sink++;
    }
    call(231, 0, 0, 0, 0);
}

__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined rip\nmov %rsp, %rdi\nand $-16, %rsp\n"
        "call run\nhlt\n.cfi_endproc\n.size _start, . - _start\n");
