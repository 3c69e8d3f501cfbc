#!/bin/sh
# Installs programs that read profiles or run perf, and Nushell, from npm and PyPI: sh tests/install-clients.sh DESTINATION
set -eu
mkdir -p "$1"
# profiler-cli needs a newer Node.js than Debian's, which the package `node` contains.
npm install --silent --no-audit --no-fund --prefix "$1" \
    speedscope@1.25.0 @firefox-devtools/profiler-cli@0.10.0 0x@6.0.0 node@24 @nushell/linux-x64@0.115.1
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$1/python" \
    gprof2dot==2025.4.14 jsonschema==4.26.0 opentelemetry-proto==1.45.2 perfetto==0.59.1 \
    duckdb==2.0.1 polars==2.1.0 pyarrow==26.0.1 pandas==3.1.1
# What builds and tests the Python package.
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$1/wheel" \
    maturin==1.16.0 mypy==2.4.1 pytest==9.2.0
# Its dependencies need other versions than the packages above.
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$1/mcp" mcp==2.3.0
# Large, so by itself: 450 MB.
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target "$1/spark" pyspark==4.3.0
cp "$0" "$1/complete"
