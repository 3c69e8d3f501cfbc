//! Messages about unknown names, with the nearest known ones.

use perf_data::printable;

/// Maximum number of known names that are listed: more would move the message itself out of a terminal.
const MAX_LISTED: usize = 100;

/// The message that a name is none of the known ones:
/// `unknown format 'jsnl'; did you mean 'jsonl'? expected one of: jsonl, json, csv`.
pub fn unknown(kind: &str, name: &str, candidates: &[&str]) -> String {
    let (hint, expected) = (hint(name, candidates), printable::list(candidates.iter(), MAX_LISTED, "names"));
    format!("unknown {kind} '{name}'; {hint}expected one of: {expected}")
}

/// The question whether a similar known name was meant, with a trailing space; empty if none is similar.
pub fn hint(name: &str, candidates: &[&str]) -> String {
    match &similar(name, candidates)[..] {
        [] => String::new(),
        names => format!("did you mean '{}'? ", names.join("' or '")),
    }
}

/// The known names nearest to a name, if at most a third of their letters differ, ignoring case.
pub fn similar<'a>(name: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let distances = similar_distances(candidates, |candidate| distance_if_similar(&lower, candidate));
    let nearest = distances.first().map(|(distance, _)| *distance);
    let matches = distances.into_iter().take_while(|(distance, _)| Some(*distance) == nearest);
    matches.map(|(_, candidate)| candidate).take(MAX_NAMES).collect()
}

/// At most `limit` functions whose names, or the last parts of their paths, are similar to a name, the nearest first.
pub fn nearest<'a>(name: &str, functions: &[&'a str], limit: usize) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let last = |function: &'a str| function.rsplit("::").next().unwrap_or(function);
    let distances = similar_distances(functions, |function| {
        let of_both = [function, last(function)].map(|name| distance_if_similar(&lower, name));
        of_both.into_iter().flatten().min()
    });
    distances.into_iter().map(|(_, function)| function).take(limit).collect()
}

/// The candidates that have a distance, the nearest first, otherwise in their order.
fn similar_distances<'a>(candidates: &[&'a str], distance: impl Fn(&'a str) -> Option<usize>) -> Vec<(usize, &'a str)> {
    let mut distances: Vec<_> =
        candidates.iter().filter_map(|candidate| Some((distance(candidate)?, *candidate))).collect();
    distances.sort_by_key(|(distance, _)| *distance);
    distances
}

/// The distance of a candidate from a name in lower case, if at most a third of the letters differ.
fn distance_if_similar(lower: &str, candidate: &str) -> Option<usize> {
    let (one, other) = (lower.chars().count(), candidate.chars().count());
    let letters = one.max(other);
    // Where the lengths alone differ by more, as for most functions, nothing is compared.
    let distance = (one.abs_diff(other) * 3 <= letters).then(|| distance(lower, &candidate.to_lowercase()))?;
    (distance * 3 <= letters).then_some(distance)
}

/// Maximum number of names that are suggested: the nearest ones; others are rarely meant.
const MAX_NAMES: usize = 3;

/// The number of letters to replace, insert, remove or exchange with the next to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<_>, Vec<_>) = (one.chars().collect(), other.chars().collect());
    // Rows of the table of distances between starts of the words: of two letters before, of the last one, and of this one.
    let mut earlier = vec![0; other.len() + 1];
    let mut last: Vec<_> = (0..=other.len()).collect();
    for line in 1..=one.len() {
        let mut row = vec![line; other.len() + 1];
        for column in 1..=other.len() {
            let [letter, expected] = [one[line - 1], other[column - 1]];
            let replaced = last[column - 1] + usize::from(letter != expected);
            row[column] = replaced.min(last[column] + 1).min(row[column - 1] + 1);
            let is_exchanged = line > 1 && column > 1 && letter == other[column - 2] && one[line - 2] == expected;
            if is_exchanged {
                row[column] = row[column].min(earlier[column - 2] + 1);
            }
        }
        earlier = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_differ_in_few_letters() {
        let commands = ["convert", "repair", "merge", "check", "diff"];
        assert_eq!(distance("report", "repair"), 3);
        assert_eq!((distance("", "diff"), distance("atuo", "auto"), distance("fidf", "diff")), (4, 1, 2));
        assert_eq!(similar("repiar", &commands), ["repair"]);
        assert_eq!(similar("chek", &commands), ["check"]);
        assert_eq!(similar("CHECK", &commands), ["check"]);
        assert!(similar("top", &commands).is_empty() && similar("completions", &commands).is_empty());
        assert!(similar("nope", &["no", "auto"]).is_empty() && similar("report", &commands).is_empty());
        assert_eq!(nearest("meregd", &["app::merged", "merge", "check"], 3), ["app::merged", "merge"]);
    }

    #[test]
    fn messages_suggest_and_list_names() {
        assert_eq!(
            unknown("format", "jsnl", &["json", "jsonl", "csv"]),
            "unknown format 'jsnl'; did you mean 'jsonl'? expected one of: json, jsonl, csv"
        );
        assert_eq!(unknown("format", "x", &["json", "csv"]), "unknown format 'x'; expected one of: json, csv");
    }
}
