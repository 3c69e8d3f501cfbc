/* Inlined, recursive, cold, variadic and indirect functions, macros of several lines. */
#include "grid.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EACH(index, count, body)                 \
    for (size_t index = 0; index < count; index++) { \
        body;                                    \
    }

struct grid {
    size_t width, height;
    unsigned cells[64];
};

typedef unsigned (*step)(const struct grid *, size_t);

static unsigned left(const struct grid *grid, size_t at)
{
    return grid->cells[wrapped(at + grid->width - 1, grid->width)];
}

static unsigned above(const struct grid *grid, size_t at)
{
    return mixed(grid->cells[wrapped(at, 64)], left(grid, at));
}

static step const steps[] = {left, above};

__attribute__((cold, noinline)) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    abort();
}

static inline unsigned neighbors(const struct grid *grid, size_t at)
{
    unsigned sum = 0;
    EACH(index, 2, sum = mixed(sum, steps[index](grid, at)))
    return sum;
}

unsigned depth(unsigned value)
{
    if (value < 2)
        return 1;
    return value % 2 ? depth(value - 1) + mixed(value, 3) : depth(value / 2) * 3;
}

__attribute__((noinline)) unsigned advance(struct grid *grid)
{
    unsigned total = 0;
    EACH(at, 64, {
        if (grid->width == 0)
            fail("no width at %zu\n", at);
        total += grid->cells[at] = neighbors(grid, at);
    })
    return total;
}

static int by_value(const void *a, const void *b)
{
    return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1;
}

int main(int count, char **words)
{
    struct grid grid = {8, 8, {0}};
    EACH(at, 64, grid.cells[at] = depth((unsigned)at + (unsigned)count))
    unsigned total = advance(&grid);
    qsort(grid.cells, 64, sizeof *grid.cells, by_value);
    printf("%s %u %u\n", words[0], total, grid.cells[7]);
    return 0;
}
