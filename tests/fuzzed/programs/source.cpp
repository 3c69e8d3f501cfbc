// The program that object files of the fuzz target `object` are built from: functions inlined into others, in scopes.
namespace harbor {
struct Crane {
    int load;
    int lift(int weight) { return (load += weight) * 3; }
};
namespace {
int moor(Crane &crane, int knots) { return crane.lift(knots) + crane.lift(knots * 7); }
}
template <class T> int dock(T &crane, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += moor(crane, i ^ sum);
    return sum;
}
}
extern "C" __attribute__((noinline)) int quay(int n) {
    harbor::Crane crane{n};
    return harbor::dock(crane, n);
}
extern "C" __attribute__((noinline)) int pier(int n) { return quay(n) + (n > 2 ? pier(n - 1) : 0); }
extern "C" void _start() {
    volatile int result = pier(9);
    (void)result;
    for (;;) {}
}
