//! Functions that a text selects among those of a profile, as people type their names.

use crate::suggest::nearest;
use perf_data::error::{Error, Result};
use perf_data::printable;
use regex_lite::Regex;

/// Number of functions that a title lists, in about two lines of a terminal.
const MAX_LISTED: usize = 5;

/// Number of functions that a message suggests: the nearest ones; others are rarely meant.
const MAX_SUGGESTED: usize = 3;

/// Functions that a text selects by their shown or full names: those that it names, otherwise the only one whose name contains it,
/// otherwise those whose names it matches as a regular expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedFunctions<'a> {
    /// The shown names, without duplicates; at least one.
    pub names: Vec<&'a str>,
    /// The full names.
    pub full_names: Vec<&'a str>,
}

impl<'a> SelectedFunctions<'a> {
    /// Selects functions that are shown with their full names.
    ///
    /// # Errors
    /// If the text selects none, with similar names.
    pub fn new(text: &str, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        Self::with_full_names(text, names.into_iter().map(|name| (name, name)))
    }

    /// Selects functions by their shown or full names.
    ///
    /// # Errors
    /// If the text selects none, with similar names.
    pub fn with_full_names(text: &str, functions: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_unstable();
        functions.dedup();
        let with_name = |is_selected: &dyn Fn(&str) -> bool| -> Vec<_> {
            functions.iter().copied().filter(|(name, full)| is_selected(name) || is_selected(full)).collect()
        };
        // Views escape and shorten names; both forms can be given.
        let is_exact = |name: &str| name == text || printable::name(name) == text;
        let exact = with_name(&is_exact);
        if !exact.is_empty() {
            return Ok(Self::from_functions(exact));
        }
        let containing = with_name(&|name| !text.is_empty() && name.contains(text));
        if containing.len() == 1 {
            return Ok(Self::from_functions(containing));
        }
        let matching = match Regex::new(text).ok().filter(|_| !text.is_empty()) {
            Some(pattern) => with_name(&|name| pattern.is_match(name)),
            // Names such as `operator()(` are no regular expressions.
            None => containing,
        };
        if matching.is_empty() {
            let mut names: Vec<_> = functions.iter().map(|(name, _)| *name).collect();
            names.dedup();
            return Err(no_function(text, &names));
        }
        Ok(Self::from_functions(matching))
    }

    fn from_functions(functions: Vec<(&'a str, &'a str)>) -> Self {
        let (mut names, full_names): (Vec<_>, _) = functions.into_iter().unzip();
        names.dedup();
        Self { names, full_names }
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
    fn functions_are_selected_by_shown_or_full_names() {
        let functions = [("sort<...>", "void sort<int>"), ("sort<...>", "void sort<long>"), ("find", "int find<int>")];
        let selected = |text| SelectedFunctions::with_full_names(text, functions).unwrap();
        assert_eq!(selected("void sort<long>").full_names, ["void sort<long>"]);
        let both = selected("sort<...>");
        assert_eq!(
            (both.title(), both.full_names),
            ("sort<...>".to_owned(), vec!["void sort<int>", "void sort<long>"])
        );
        assert_eq!(selected("int>").full_names, ["int find<int>", "void sort<int>"]);
        assert_eq!(selected("find<").title(), "find");
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
