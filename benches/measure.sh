# Measuring functions of compare.sh, which sources this file: wall and CPU seconds, anonymous memory, medians, table rows.

about_this_machine() {
    printf 'Measured on %s, %s cores, Linux %s, %s, %s.\n' \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" "$(nproc)" "$(uname -r)" "$(perf --version)" "$(date +%F)"
}

# Runs a command once; sets wall, cpu and anon: peak anonymous memory in MiB, sampled every 10 ms, empty for runs too short to
# sample.
once() {
    local command=$1 pid='' key value user system max_anon=0 job
    rm -f "$work/pid"
    TIMEFORMAT='%R %U %S'
    { time bash -c 'echo $$ >"$0"; eval "exec $1"' "$work/pid" "$command" >/dev/null 2>"$work/stderr"; } 2>"$work/time" &
    job=$!
    while kill -0 $job 2>/dev/null; do
        [[ -n $pid ]] || pid=$(cat "$work/pid" 2>/dev/null || true)
        while read -r key value _; do
            if [[ $key == RssAnon: ]] && ((value > max_anon)); then max_anon=$value; fi
        done 2>/dev/null <"/proc/${pid:-none}/status" || true
        sleep 0.01
    done
    wait $job || { echo "$command:" >&2; cat "$work/stderr" >&2; return 1; }
    read -r wall user system <"$work/time"
    cpu=$(awk "BEGIN { print $user + $system }")
    anon=$(awk "BEGIN { print $wall < 0.05 ? \"\" : int($max_anon / 1024) }")
}

median() { printf '%s\n' "$@" | sort -g | sed -n "$((($# + 1) / 2))p"; }

max() { printf '%s\n' "$@" | sort -g | tail -n 1; }

heading() {
    echo '| job | wall s | CPU s | MB/s | anon MiB | counterpart | its wall s | its CPU s | its anon MiB | CPU ratio |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
}

# Prints a row: a job on an input, alternating with its counterpart.
job() {
    local name=$1 input=$2 ours=$3 other=$4 theirs=$5 size walls=() cpus=() other_walls=() other_cpus=() anons=() other_anons=()
    size=${input}_megabytes
    for ((run = 0; run < runs; run++)); do
        once "$ours"
        walls+=("$wall") cpus+=("$cpu") anons+=("$anon")
        if command -v "${theirs%% *}" >/dev/null && ! { ((run > 0)) && awk "BEGIN { exit !(${other_walls[0]} > 5) }"; }; then
            once "$theirs"
            other_walls+=("$wall") other_cpus+=("$cpu") other_anons+=("$anon")
        fi
    done
    wall=$(median "${walls[@]}") cpu=$(median "${cpus[@]}")
    local rate their='| not installed | | |'
    rate=$(awk "BEGIN { printf \"%.0f\", ${!size} * 1.048576 / ($wall > 0 ? $wall : 0.001) }")
    if ((${#other_cpus[@]})); then
        local other_cpu
        other_cpu=$(median "${other_cpus[@]}")
        their="| $(median "${other_walls[@]}") | $other_cpu | $(max "${other_anons[@]}") | $(awk "BEGIN { printf \"%.2f\", $other_cpu / ($cpu > 0 ? $cpu : 0.001) }")"
    fi
    echo "| $name | $wall | $cpu | $rate | $(max "${anons[@]}") | $other $their |"
}

growth_heading() {
    echo '| input | job | wall s | CPU s | MB/s | anon MiB |'
    echo '|---|---|---|---|---|---|'
}

# Prints a row: the cost of one run.
growth() {
    local size=${3}_megabytes
    once "$4"
    echo "| $1 | $2 | $wall | $cpu | $(awk "BEGIN { printf \"%.0f\", ${!size} * 1.048576 / ($wall > 0 ? $wall : 0.001) }") | $anon |"
}
