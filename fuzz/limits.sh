#!/bin/bash
# Prints the limits of a fuzz target for libFuzzer, beyond which a run fails: bash fuzz/limits.sh TARGET.
set -euo pipefail
# Targets of files that may be hostile check their memory themselves. The whole process has the corpus, too.
case $1 in
object) echo "-timeout=10 -rss_limit_mb=1024 -max_len=2000" ;;
archive | completion | dataset | page) echo "-timeout=10 -rss_limit_mb=1024 -max_len=4000" ;;
*) echo "-timeout=20 -rss_limit_mb=2048 -max_len=20000" ;;
esac
