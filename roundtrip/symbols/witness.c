/* A program that writes its own call stack each time it touches a new page, which is when the kernel takes a sample: the return
   addresses that the compiler's instrumentation reports on entry to each function, innermost first, after the address of the page. */
typedef unsigned long word;
#define QUIET __attribute__((no_instrument_function))
#define PAGE 4096
#define PAGES 250

static volatile char pages[PAGES * PAGE] __attribute__((aligned(PAGE)));
static word callers[256], depth, touched;
static unsigned long long random_state = 1;
static char text[1 << 16];
static word length;

#ifdef __i386__
enum { WRITE = 4, EXIT = 1, MADVISE = 219 };
#define START "xor %ebp, %ebp\nand $-16, %esp\n"
#define COUNTER "eip"
#else
enum { WRITE = 1, EXIT = 60, MADVISE = 28 };
#define START "xor %ebp, %ebp\nand $-16, %rsp\n"
#define COUNTER "rip"
#endif

QUIET static void call_system(word number, word first, word second, word third) {
#ifdef __i386__
    __asm__ volatile("int $0x80" : "+a"(number) : "b"(first), "c"(second), "d"(third) : "memory");
#else
    __asm__ volatile("syscall" : "+a"(number) : "D"(first), "S"(second), "d"(third) : "rcx", "r11", "memory");
#endif
}

QUIET static void write_text(void) {
    call_system(WRITE, 1, (word)text, length);
    length = 0;
}

QUIET static void put(word value, char end) {
    for (int shift = 8 * sizeof value - 4; shift >= 0; shift -= 4) text[length++] = "0123456789abcdef"[value >> shift & 15];
    text[length++] = end;
}

QUIET void __cyg_profile_func_enter(void *function, void *caller) { callers[depth++] = (word)caller; }
QUIET void __cyg_profile_func_exit(void *function, void *caller) { depth--; }

/* The stack is written before the page is touched: in the function itself, not in one that it calls. */
#define TOUCH()                                                                                                                \
    do {                                                                                                                       \
        if (touched < PAGES && depth > 0) {                                                                                    \
            volatile char *page = pages + touched++ * PAGE;                                                                    \
            note((word)page);                                                                                                  \
            *page = 1;                                                                                                         \
        }                                                                                                                      \
    } while (0)

QUIET static __attribute__((noinline)) void note(word page) {
    put(page, depth ? ' ' : '\n');
    for (word at = depth; at-- > 1;) put(callers[at], at > 1 ? ' ' : '\n');
    if (length > sizeof text / 2) write_text();
}

QUIET static unsigned random_number(unsigned below) {
    random_state = random_state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(random_state >> 33) % below;
}

static word any(int level, word seed);

/* Many registers are saved. */
__attribute__((noinline)) static word full(int level, word a, word b, word c, word d, word e) {
    word f = a * b, g = c * d, h = e * a, i = b * c;
    word sum = level > 0 ? any(level - 1, a) : 0;
    TOUCH();
    sum += level > 0 ? any(level - 1, b) : 0;
    return sum + f + g + h + i + a + b + c + d + e;
}

/* A frame of a size that only the program knows. */
__attribute__((noinline)) static word variable(int level, word seed) {
    unsigned size = 16 + random_number(300);
    volatile char *room = __builtin_alloca(size);
    room[0] = room[size - 1] = (char)seed;
    TOUCH();
    word sum = level > 0 ? any(level - 1, seed) : 0;
    return sum + room[0];
}

/* A large frame, and arguments on the stack. */
__attribute__((noinline)) static word large(int level, word a, word b, word c, word d, word e, word f, word g, word h) {
    volatile char room[700];
    room[a % sizeof room] = (char)b;
    word sum = level > 0 ? any(level - 1, c + d + e) : 0;
    TOUCH();
    return sum + room[f % sizeof room] + g + h;
}

/* A frame that is made only on one path. */
__attribute__((noinline)) static word lazy(int level, word seed) {
    if (seed % 3 == 0 || level <= 0) {
        TOUCH();
        return seed;
    }
    return any(level - 1, seed / 3) + any(level - 1, seed / 5);
}

/* A frame that begins at a multiple of 64. */
__attribute__((noinline)) static word aligned(int level, word seed) {
    volatile word room[8] __attribute__((aligned(64)));
    room[seed % 8] = seed;
    TOUCH();
    word sum = level > 0 ? any(level - 1, seed + 1) : 0;
    return sum + room[seed % 8];
}

__attribute__((noinline)) static word through(int level, word seed) {
    static word (*const list[])(int, word) = {variable, lazy, aligned};
    return list[seed % 3](level, seed);
}

__attribute__((noinline)) static word any(int level, word seed) {
    if (touched >= PAGES) return seed;
    switch (random_number(6)) {
    case 0: return full(level, seed, seed + 1, seed + 2, seed + 3, seed + 4) + 1;
    case 1: return variable(level, seed) + 1;
    case 2: return large(level, seed, seed, seed, seed, seed, seed, seed, seed) + 1;
    case 3: return lazy(level, seed) + 1;
    case 4: return aligned(level, seed) + 1;
    default: return through(level, seed) + 1;
    }
}

QUIET __attribute__((used, noreturn)) static void run(void) {
    word sum = 0;
    call_system(MADVISE, (word)pages, sizeof pages, 15); /* MADV_NOHUGEPAGE, so that each page has a fault of its own. */
    while (touched < PAGES) sum += any(9, sum);
    write_text();
    call_system(EXIT, 0, 0, 0);
    __builtin_unreachable();
}

__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined " COUNTER "\n" START
        "call run\nhlt\n.cfi_endproc\n.size _start, .-_start\n");
