//! Functions that a text selects among those of a profile, as people type their names.

use crate::suggest::nearest;
use perf_data::error::{Error, Result};
use perf_data::printable;
use regex_lite::Regex;

/// Number of functions that a title lists.
const MAX_LISTED: usize = 5;

/// Number of functions that a message suggests.
const MAX_SUGGESTED: usize = 3;

/// Names that a text selects: the one that it is, otherwise the only one that contains it, otherwise those that it matches as a
/// regular expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedFunctions<'a> {
    /// The names, without duplicates; at least one.
    pub names: Vec<&'a str>,
}

impl<'a> SelectedFunctions<'a> {
    /// Selects names.
    ///
    /// # Errors
    /// If the text selects none, with similar names.
    pub fn new(text: &str, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        // Views escape and shorten names; both forms can be given.
        let is_exact = |name: &&str| *name == text || printable::name(name) == text;
        if let Some(exact) = names.iter().copied().find(is_exact) {
            return Ok(Self { names: vec![exact] });
        }
        let containing: Vec<_> = names.iter().copied().filter(|name| !text.is_empty() && name.contains(text)).collect();
        if containing.len() == 1 {
            return Ok(Self { names: containing });
        }
        let matching = match Regex::new(text).ok().filter(|_| !text.is_empty()) {
            Some(pattern) => names.iter().copied().filter(|name| pattern.is_match(name)).collect(),
            // Names such as `operator()(` are no regular expressions.
            None => containing,
        };
        if matching.is_empty() { Err(no_function(text, &names)) } else { Ok(Self { names: matching }) }
    }

    /// The names as one text: `count_word`, or `2 functions (count_word, count_words)`.
    pub fn title(&self) -> String {
        match &self.names[..] {
            [name] => printable::name(name).into_owned(),
            names => format!("{} functions ({})", names.len(), printable::list(names.iter(), MAX_LISTED, "functions")),
        }
    }
}

/// The error that no sample has a selected function.
fn no_function(text: &str, names: &[&str]) -> Error {
    let similar: Vec<_> =
        nearest(text, names, MAX_SUGGESTED).iter().map(|name| format!("'{}'", printable::name(name))).collect();
    let hint = match &similar[..] {
        [] => "expected a name that the report lists, a part of one, or a regular expression".to_owned(),
        [name] => format!("did you mean {name}?"),
        [names @ .., last] => format!("did you mean {} or {last}?", names.join(", ")),
    };
    Error::not_found(format!("no sample has a function '{}'; {hint}", printable::name(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["main", "count_word", "count_words", "app::Tree<int>::insert", "operator()"];

    fn selected(text: &str) -> Vec<&'static str> {
        SelectedFunctions::new(text, NAMES).unwrap().names
    }

    #[test]
    fn exact_names_go_before_parts_and_parts_before_patterns() {
        assert_eq!(selected("count_word"), ["count_word"]);
        assert_eq!(selected("words"), ["count_words"]);
        assert_eq!(selected("Tree<int>"), ["app::Tree<int>::insert"]);
        assert_eq!(selected("operator()"), ["operator()"]);
        assert_eq!(selected("^count"), ["count_word", "count_words"]);
        assert_eq!(selected("count"), ["count_word", "count_words"]);
        let title = SelectedFunctions::new("count", NAMES).unwrap().title();
        assert_eq!(title, "2 functions (count_word, count_words)");
    }

    #[test]
    fn unknown_functions_are_reported_with_similar_ones() {
        let error = |text| SelectedFunctions::new(text, NAMES).unwrap_err().to_string();
        let expected = "no sample has a function 'cuont_word'; did you mean 'count_word' or 'count_words'?";
        assert_eq!(error("cuont_word"), expected);
        assert_eq!(error("isnert"), "no sample has a function 'isnert'; did you mean 'app::Tree<int>::insert'?");
        assert!(error("nothing").contains("; expected a name that the report lists") && !error("").is_empty());
        assert!(error("((").contains("'(('"));
    }
}
