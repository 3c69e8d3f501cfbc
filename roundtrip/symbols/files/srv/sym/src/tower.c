/* Functions without frame pointers, recursive and through pointers. Without a C library, so that its stacks are complete. */
typedef unsigned long word;

static volatile word sink;

static __attribute__((noinline)) void climb(word steps) {
    for (word i = 0; i < steps; i++) sink += i * i;
}

static inline void rest(word steps) {
    for (word i = 0; i < steps; i++) sink ^= i;
}

static __attribute__((noinline)) word floor_of(word level) {
    volatile char room[64];
    room[level % 64] = (char)level;
    if (level == 0) climb(20000);
    else floor_of(level - 1);
    rest(3000);
    return (word)room[level % 64];
}

static __attribute__((noipa)) word visit(word (*go)(word), word level) {
    volatile word seen = go(level);
    return seen + 1;
}

__attribute__((noinline)) void run(word rounds) {
    for (word i = 0; i < rounds; i++) {
        visit(floor_of, i % 12);
        climb(4000);
    }
}

__asm__(".globl _start\n"
        "_start:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "mov $3000, %edi\n"
        "call run\n"
        "mov $60, %eax\n"
        "xor %edi, %edi\n"
        "syscall\n"
        ".cfi_endproc\n");
