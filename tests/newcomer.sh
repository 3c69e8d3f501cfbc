#!/bin/bash
# What a newcomer does, in an empty home: installs perfconv, records a program, runs the everyday commands of the README, opens
# each output with its client, and uninstalls. Prints a log, and fails at the first step that fails.
#
#   bash tests/newcomer.sh deb PACKAGE [ROOT]   from a Debian package, in a new Debian made by mmdebstrap, or in ROOT
#   bash tests/newcomer.sh clone [DIRECTORY]    from a clean clone, with cargo
#
# Clients that are not installed are skipped and listed at the end.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
mode=${1:?deb or clone}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home TMPDIR=$work/tmp
mkdir "$HOME" "$TMPDIR"
passed=0
skipped=()

say() { printf '\n== %s\n' "$*"; }
# Runs a command, prints it with the first lines of its output, and fails with all of it.
run() {
    printf '$ %s\n' "$*"
    if ! "$@" >"$work/output" 2>&1; then
        cat "$work/output"
        printf 'error: %s\n' "$*" >&2
        exit 1
    fi
    head -n "${LINES_SHOWN:-4}" "$work/output"
    passed=$((passed + 1))
}
# Runs a command whose output must match an extended regular expression.
expect() {
    local pattern=$1
    shift
    run "$@"
    if ! grep -qE -- "$pattern" "$work/output"; then
        cat "$work/output"
        printf 'error: no match of "%s" in the output of %s\n' "$pattern" "$*" >&2
        exit 1
    fi
}
has() {
    command -v "$1" >/dev/null || { skipped+=("$1: $2") && return 1; }
}

case $mode in
deb)
    package=$(realpath "${2:?a package}")
    root=${3-}
    if [ -z "$root" ]; then
        root=$work/root
        say "a new Debian"
        # Packages are downloaded as on this machine: through its proxy, and from mirrors of any age.
        apt-config dump Acquire >"$work/apt.conf"
        run mmdebstrap --variant=minbase --include=man-db,bash-completion --quiet --aptopt="$work/apt.conf" \
            --dpkgopt='path-include=/usr/share/man/*' stable "$root"
    fi
    say "install the package"
    cp "$package" "$root/tmp/perfconv.deb"
    inside() { chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 TERM=dumb "$@"; }
    expect 'Setting up perfconv' inside dpkg --install /tmp/perfconv.deb
    expect '^perfconv [0-9.]+' inside perfconv --version --verbose
    expect 'PERFCONV-REPORT' inside man -P cat perfconv-report
    expect 'perf_to_profile' inside man -P cat perf_to_profile
    expect 'complete .*perfconv' inside bash -c '. /usr/share/bash-completion/completions/perfconv && complete -p perfconv'
    expect 'Usage: perf_to_profile' inside perf_to_profile --help
    expect '/usr/lib/perfconv/perf_to_profile' inside update-alternatives --query perf_to_profile
    cp "$here/roundtrip/fixtures/callgraph.data" "$root/tmp/perf.data"
    expect '377 samples in' inside perfconv /tmp/perf.data -o /tmp/out.pb.gz
    expect '377 samples in' inside perf_to_profile -i /tmp/perf.data -o /tmp/out.pb
    run test -s "$root/tmp/out.pb.gz" -a -s "$root/tmp/out.pb"
    # The commands below run the same program, where perf and the clients are.
    mkdir -p "$HOME/bin"
    cp "$root/usr/bin/perfconv" "$HOME/bin/perfconv"
    ;;
clone)
    say "build from a clean clone"
    clone=${2:-$work/clone}
    [ -d "$clone" ] || run git clone --quiet --no-local "$here" "$clone"
    # The toolchain is not the newcomer's home.
    export CARGO_HOME=${CARGO_HOME:-/root/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-/root/.rustup}
    run cargo install --quiet --locked --profile "${PROFILE:-release}" --path "$clone" --root "$HOME"
    ;;
*)
    echo "error: deb or clone" >&2
    exit 2
    ;;
esac
export PATH=$HOME/bin:$PATH
cd "$HOME"

say "record a program"
if has perf 'the fixture is used instead of a new recording'; then
    cat >spin.sh <<'PROGRAM'
i=0
while [ $i -lt 200000 ]; do i=$((i + 1)); done
PROGRAM
    run perf record -q -g -e cpu-clock -F 999 -o perf.data sh spin.sh
else
    cp "$here/roundtrip/fixtures/callgraph.data" perf.data
fi

say "the everyday commands of the README"
LINES_SHOWN=12 expect 'samples +[0-9]+' perfconv
expect 'self' perfconv report --limit 5 -q
expect 'samples in' perfconv perf.data -o out.pb.gz
expect '^file:///' perfconv view --no-open -q
expect 'samples in' perfconv perf.data -o slice.data --time 10%-50% --compress
expect 'samples in' perfconv rewrite perf.data -o shared.data --anonymize
expect '.' perfconv check shared.data
expect 'samples in' perfconv archive perf.data -o perf.tar.zst
expect 'samples in' perfconv perf.data -o out.jsonl
expect 'samples in' perfconv out.jsonl -o copy.data
run cmp perf.data copy.data
for output in flame.svg profile.html out.folded out.fx.json.gz out.speedscope.json out.pftrace out.otlp out.callgrind out.trace.json; do
    LINES_SHOWN=1 expect 'samples in' perfconv perf.data -o "$output"
done

say "open each output with its client"
if has perf 'slice.data, shared.data, copy.data'; then
    for recording in slice.data shared.data copy.data; do
        expect '%' perf report -i "$recording" --stdio --stdio-color never
    done
fi
if has pprof out.pb.gz; then
    expect 'flat%' pprof -top out.pb.gz
    # pprof runs perf_to_profile for a perf.data.
    ln -s perfconv "$HOME/bin/perf_to_profile"
    expect 'flat%' pprof -top perf.data
    rm "$HOME/bin/perf_to_profile"
fi
if has jq 'out.jsonl, out.speedscope.json, out.trace.json'; then
    expect '^[0-9]+$' jq -n '[inputs | select(.record == "SAMPLE")] | length' out.jsonl
    expect '^[1-9]' jq '.shared.frames | length' out.speedscope.json
    expect '^[1-9]' jq '.traceEvents | length' out.trace.json
fi
has callgrind_annotate out.callgrind && expect 'Ir|cpu-clock|PROGRAM TOTALS' callgrind_annotate out.callgrind
has xmllint flame.svg && run xmllint --noout flame.svg
if has chromium profile.html; then
    expect 'cpu-clock' timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=20000 \
        --user-data-dir="$work/browser" --dump-dom "file://$HOME/profile.html"
fi
clients=${CLIENTS:-$here/target/tmp/clients}
if [ -d "$clients/python" ]; then
    PYTHONPATH=$clients/python expect '^[1-9]' python3 -c '
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
data = ProfilesData.FromString(open("out.otlp", "rb").read())
print(len(data.dictionary.stack_table), "stacks")'
    PYTHONPATH=$clients/python expect '^[1-9]' python3 -c '
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
print(len(Trace.FromString(open("out.pftrace", "rb").read()).packet), "packets")'
else
    skipped+=("opentelemetry-proto and perfetto: out.otlp, out.pftrace")
fi
profiler=$clients/node_modules/.bin/profiler-cli
if [ -x "$profiler" ]; then
    export PATH=$clients/node_modules/.bin:$PATH
    expect 'sh|perf' "$profiler" load out.fx.json.gz
    "$profiler" stop >/dev/null 2>&1 || true
else
    skipped+=("profiler-cli: out.fx.json.gz")
fi

say "uninstall"
if [ "$mode" = deb ]; then
    expect 'Removing perfconv' inside dpkg --remove perfconv
    remains=$(find "$root/usr" "$root/etc" -name '*perfconv*' -o -name '*perf_to_profile*')
    run test -z "$remains"
else
    run cargo uninstall --quiet --root "$HOME" perfconv
    run test ! -e "$HOME/bin/perfconv"
fi

say "result"
if ((${#skipped[@]})); then
    printf 'skipped, because the client is not installed:\n'
    printf '  %s\n' "${skipped[@]}"
fi
echo "$passed commands passed"
((passed >= 25))
