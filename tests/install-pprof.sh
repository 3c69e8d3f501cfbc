#!/bin/sh
# Builds the pprof program from Debian packages: sh tests/install-pprof.sh DESTINATION
set -eu
packages="golang-go golang-github-google-pprof-dev"
if ! dpkg-query -W -f '${Status}\n' $packages 2>/dev/null | grep -c '^install ok' | grep -qx 2; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -qq -y --no-install-recommends $packages
fi
# Build next to the destination and rename, so that tests never run an incomplete program.
GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS= go build -o "$1.new" github.com/google/pprof
mv "$1.new" "$1"
