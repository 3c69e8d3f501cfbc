# Builds a C++ program with much debug information, $work/cxx: each of $units source files instantiates containers, streams and
# regular expressions for types of its own.
program() {
    local unit
    for ((unit = 0; unit < units; unit++)); do
        cat >"$work/$unit.cpp" <<END
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace unit$unit {
template <int N> struct Item {
    int value = N;
    std::string name = std::to_string(N);
    bool operator<(const Item &other) const { return value < other.value; }
};
template <int N> std::size_t use(const std::string &text) {
    std::map<std::string, Item<N>> by_name;
    std::set<Item<N>> items;
    std::vector<std::variant<int, Item<N>>> list;
    std::unordered_map<int, std::shared_ptr<Item<N>>> shared;
    for (const char c : text) {
        Item<N> item{c};
        by_name[item.name] = item;
        items.insert(item);
        list.emplace_back(item);
        shared[c] = std::make_shared<Item<N>>(item);
    }
    std::sort(list.begin(), list.end(), [](const auto &a, const auto &b) { return a.index() < b.index(); });
    std::function<std::size_t(std::size_t)> add = [&](std::size_t n) { return n + by_name.size() + shared.size(); };
    std::ostringstream out;
    out << add(list.size()) << std::regex_replace(text, std::regex("[a-f]" + std::to_string(N)), "x");
    if constexpr (N > 0) return out.str().size() + use<N - 1>(text);
    return out.str().size();
}
}
std::size_t unit_$unit(const std::string &text) { return unit$unit::use<24>(text); }
END
        echo "std::size_t unit_$unit(const std::string &);" >>"$work/main.h"
        echo "sum += unit_$unit(argv[0]);" >>"$work/calls.h"
    done
    cat >"$work/main.cpp" <<END
#include <string>
#include "main.h"
int main(int, char **argv) {
    std::size_t sum = 0;
#include "calls.h"
    return sum == 0;
}
END
    printf '%s\n' "$work"/*.cpp | xargs -P "$(nproc)" -I{} g++ -std=c++17 -O1 -g -c {} -o {}.o
    g++ -Wl,--build-id "$work"/*.cpp.o -o "$work/cxx"
    rm "$work"/*.o
}
