//! Suffixes of the symbols of parts and clones that compilers split from functions.

/// Suffixes, of which those that end with a period are followed by a number.
const SUFFIXES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".cold.", ".llvm."];

/// The name of the function that a symbol is of: `scan` of `scan.part.0.cold`.
pub(super) fn without_suffixes(symbol: &str) -> &str {
    let unnumbered = symbol.trim_end_matches(|char: char| char.is_ascii_digit());
    let suffix = SUFFIXES.iter().find(|suffix| {
        let end = if suffix.ends_with('.') && unnumbered.len() < symbol.len() { unnumbered } else { symbol };
        end.len() > suffix.len() && end.ends_with(**suffix)
    });
    let Some(suffix) = suffix else { return symbol };
    let end = if suffix.ends_with('.') { unnumbered } else { symbol };
    without_suffixes(&end[..end.len() - suffix.len()])
}
