//! Messages about unknown names, with the nearest known ones.

use perf_data::printable;

/// Maximum number of known names that are listed.
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

/// The known names nearest to a name, if at most half of their letters differ, ignoring case.
pub fn similar<'a>(name: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let distances: Vec<_> =
        candidates.iter().map(|candidate| (distance(&lower, &candidate.to_lowercase()), *candidate)).collect();
    let nearest = distances.iter().map(|(distance, _)| *distance).min().unwrap_or(0);
    let is_similar = |candidate: &str| nearest * 2 <= name.chars().count().max(candidate.chars().count());
    let matches = distances.into_iter().filter(|&(distance, candidate)| distance == nearest && is_similar(candidate));
    matches.map(|(_, candidate)| candidate).take(MAX_NAMES).collect()
}

/// Maximum number of names that are suggested.
const MAX_NAMES: usize = 3;

/// Levenshtein distance: the number of letters to replace, insert or remove to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().collect();
    let mut row: Vec<_> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, &other) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_differ_in_few_letters() {
        let commands = ["convert", "repair", "merge", "check", "diff"];
        assert_eq!(distance("report", "repair"), 3);
        assert_eq!(distance("", "diff"), 4);
        assert_eq!(similar("report", &commands), ["repair"]);
        assert_eq!(similar("chek", &commands), ["check"]);
        assert_eq!(similar("CHECK", &commands), ["check"]);
        assert!(similar("top", &commands).is_empty() && similar("completions", &commands).is_empty());
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
