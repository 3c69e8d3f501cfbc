/* Functions that are inlined into those of another file. */
#include <stddef.h>

static inline size_t wrapped(size_t value, size_t limit)
{
    while (value >= limit)
        value -= limit;
    return value;
}

static inline unsigned mixed(unsigned a, unsigned b)
{
    unsigned sum = a * 31 + b;
    return sum ^ (unsigned)wrapped(sum, 97);
}
