#!/bin/bash
# A mixed load, run twice at once: a compiler and its program, interpreters, compressors, short processes.
#
#   bash benches/mixed-load.sh DIRECTORY
#
# Runs until it is killed.
set -u
mkdir -p "$1" && cd "$1" || exit
cat > shapes.cpp <<'C'
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
#include <iostream>
int main(int argc, char **argv) {
    std::map<std::string, std::vector<int>> table;
    std::regex word("[a-z]+([0-9]+)");
    for (int i = 0; i < 60000; i++) {
        std::string key = "key" + std::to_string(i * 7919 % 10007);
        std::smatch match;
        if (std::regex_match(key, match, word)) table[match[1]].push_back(i);
    }
    size_t sum = 0;
    for (auto &[key, list] : table) { std::sort(list.rbegin(), list.rend()); sum += list.size() * key.size(); }
    std::cout << sum << "\n";
}
C
while :; do
    g++ -O2 -std=c++17 -o shapes shapes.cpp && ./shapes >/dev/null
    python3 -c 'import json,re
d=[{"a":i,"b":str(i)*3,"c":[i]*5} for i in range(30000)]
s=json.dumps(d); e=json.loads(s); print(len(re.findall(r"\d+1", s)), sorted(map(str, e))[0][:9])' >/dev/null
    perl -e 'my %h; for my $i (1..200000) { $h{$i % 5003} .= chr(65 + $i % 26); } print length join "", map { $h{$_} } sort keys %h;' >/dev/null
    head -c 6000000 "$(realpath "$(command -v python3)")" >blob
    gzip -6 -c blob >blob.gz; xz -1 -c blob >blob.xz
    objdump -d shapes >text 2>/dev/null; sort text >sorted; sort -R text >/dev/null
    find /usr/share -name '*.gz' >/dev/null
    for i in $(seq 60); do /bin/true; done
done
