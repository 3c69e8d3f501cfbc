// Inlined functions without linkage names, in scopes of all kinds.

#define INLINE __attribute__((always_inline))

static volatile int sink;

namespace {
struct Visitor {
    int factor;
    INLINE int operator()(int value) const { sink = value; return value * factor + sink; }
    template <class T> INLINE void visit(T value) { sink += value; }
};
INLINE inline int hidden(int value) { sink = value; return sink * 3; }
}

namespace shop {
namespace detail {
static INLINE inline int stocked(int value) { sink = value; return sink + 7; }
}
namespace {
namespace deep {
union Either {
    int value;
    INLINE int get() { sink = value; return sink; }
};
}
}
}

__attribute__((noinline)) int work(int value) {
    struct Local {
        INLINE int run(int value) { sink = value; return sink * 5; }
    } local;
    auto lambda = [value](int more) INLINE { sink = more; return sink + value; };
    shop::deep::Either either{3};
    Visitor visitor{2};
    visitor.visit(value);
    return visitor(value) + hidden(value) + shop::detail::stocked(value) + local.run(value) + lambda(value) + either.get();
}

int main(int argc, char **) { return work(argc) & 1; }
