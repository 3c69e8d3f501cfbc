#!/bin/bash
# Counts words and phrases that our plain technical English avoids, by kind of file: bash tests/prose.sh [-v]
#
# A help for reviewers, not a gate: some occurrences are right (a file can be cut, a field of an output can be named "told").
# With -v, also prints each occurrence outside of code as FILE:LINE: TEXT.
set -euo pipefail
cd "$(dirname "$0")/.."

# Name of the row, and extended regular expression, matched as whole words without regard to case.
words=(
    'tell, told|tell|tells|told|telling|retell|retold'
    'folder|folders?'
    'what is read, written|what (is|was) (read|written)|what comes (out|back)|what came (out|back)'
    'made of, remade|made of|makes of|remade|remake|made again'
    'made up, from nothing|made[ -]up|makes? up|from nothing'
    'cut, damaged|cut|is cut|damaged|damages'
    'left out, gone|left out|leaves out|is gone|are gone|has gone'
    'stays|stays?'
    'nobody knows|nobody|not there|is there|are there'
    'whoever reads|whoever|whatever'
    'what is said|what is (said|told|asked|wrong|missing)|is said|are said'
    'in the order of time|in the order of (time|their times)'
    'in each other|in each other|on each other|lie in|lies in'
    'look|a look|looked at|looks at|looked for|looked into'
    'again|again|anew'
    'behind, beside|behind|beside'
    'turns|turns'
    'the most, MOST_|the most|most of all|MOST_[A-Z_]+'
    'so many, as many|so many|as many as'
    'kept, by itself|kept for|by itself|by themselves|of (its|one.?s|their) own'
)

kinds=(src tests docs README CHANGELOG scenarios other)
kind_of() {
    case $1 in
    src/*) echo src ;;
    tests/* | roundtrip/* | fuzz/* | benches/* | examples/*) echo tests ;;
    docs/*) echo docs ;;
    README.md) echo README ;;
    CHANGELOG.md) echo CHANGELOG ;;
    scenarios/*) echo scenarios ;;
    *) echo other ;;
    esac
}

declare -A files
while IFS= read -r file; do
    [[ $file == tests/prose.sh || $file == *.lock || $file == LICENSE-* ]] && continue
    files[$(kind_of "$file")]+="$file"$'\n'
done < <(git ls-files | grep -E '\.(rs|md|sh|toml|proto|json)$|^\.ci/' | grep -v '^tests/fuzzed/corpus/')

count() {
    [[ -n ${files[$1]:-} ]] || { echo 0; return; }
    tr '\n' '\0' <<<"${files[$1]%$'\n'}" | xargs -0 grep -ohiwE -- "$2" | wc -l || true
}

printf '%-24s' ''
printf '%11s' "${kinds[@]}" total
echo
for row in "${words[@]}"; do
    name=${row%%|*} pattern=${row#*|}
    printf '%-24s' "$name"
    sum=0
    for kind in "${kinds[@]}"; do
        number=$(count "$kind" "$pattern")
        sum=$((sum + number))
        printf '%11s' "$number"
    done
    printf '%11s\n' "$sum"
done

[[ ${1:-} == -v ]] || exit 0
pattern=$(printf '%s\n' "${words[@]}" | sed 's/^[^|]*|//' | paste -sd '|')
for kind in "${kinds[@]}"; do
    [[ -n ${files[$kind]:-} ]] || continue
    tr '\n' '\0' <<<"${files[$kind]%$'\n'}" | xargs -0 grep -HniwE -- "$pattern" |
        grep -E '\.md:|//|#|"' || true
done
