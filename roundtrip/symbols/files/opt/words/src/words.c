// Counts the words of random text. Built without libraries, so that all functions of its profile are below.
typedef unsigned long size;

enum { TEXT = 1 << 16, SLOTS = 1 << 12, LONGEST = 8 };

struct word {
    char text[LONGEST];
    size length, count;
};

static char text[TEXT];
static struct word slots[SLOTS];
static unsigned random_state = 1;

static inline unsigned next_random(void) {
    random_state = random_state * 1103515245 + 12345;
    return random_state >> 16;
}

__attribute__((noinline)) static void generate_text(void) {
    size at = 0;
    while (at + LONGEST < TEXT) {
        for (size length = 1 + next_random() % 3; length > 0; length--)
            text[at++] = 'a' + next_random() % 12;
        text[at++] = next_random() % 8 ? ' ' : '.';
    }
}

static inline int is_letter(char c) {
    return c >= 'a' && c <= 'z';
}

static inline int is_same(const struct word *slot, const char *word, size length) {
    if (slot->length != length)
        return 0;
    for (size i = 0; i < length; i++)
        if (slot->text[i] != word[i])
            return 0;
    return 1;
}

__attribute__((noinline)) static size hash(const char *word, size length) {
    size hash = 14695981039346656037ul;
    for (size i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)word[i]) * 1099511628211ul;
    return hash ^ hash >> 32;
}

__attribute__((noinline)) static struct word *find(const char *word, size length) {
    size at = hash(word, length) % SLOTS;
    while (slots[at].length && !is_same(&slots[at], word, length))
        at = (at + 1) % SLOTS;
    return &slots[at];
}

__attribute__((noinline)) static void count_word(const char *word, size length) {
    struct word *slot = find(word, length);
    if (slot->count++ == 0) {
        slot->length = length;
        for (size i = 0; i < length; i++)
            slot->text[i] = word[i];
    }
}

__attribute__((noinline)) static void count_words(void) {
    for (size at = 0, start; at < TEXT; at++) {
        for (start = at; at < TEXT && is_letter(text[at]); at++)
            ;
        if (at > start)
            count_word(&text[start], at - start);
    }
}

__attribute__((noinline)) static size most_frequent(void) {
    size most = 0;
    for (size i = 1; i < SLOTS; i++)
        if (slots[i].count > slots[most].count)
            most = i;
    return most;
}

__attribute__((noinline)) int main(void) {
    size sum = 0;
    for (int round = 0; round < 600; round++) {
        generate_text();
        count_words();
        sum += most_frequent();
    }
    return sum == 0;
}

// The kernel starts a program here, without a return address.
__attribute__((naked, noreturn)) void _start(void) {
    asm("xor %ebp, %ebp\n call main\n mov %eax, %edi\n mov $60, %eax\n syscall");
}
