#!/bin/bash
# Prints the section of CHANGELOG.md about a version: bash packaging/notes.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
awk -v version="$1" '
    index($0, "## [" version "]") == 1 { found = 1; next }
    found && /^## / { exit }
    found { print }
    END { if (!found) { print "error: CHANGELOG.md has no version " version >"/dev/stderr"; exit 1 } }
' CHANGELOG.md
