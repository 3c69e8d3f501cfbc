//! Rejects a first argument that is neither a command nor a file.

use super::args::Cli;
use super::failure::Failure;
use super::perf;
use clap::CommandFactory;
use perfconv::formats::omitted::omitted;
use perfconv::suggest::{hint, similar};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

/// Rejects a first argument that looks like a command unless it is one, or a file has its name.
///
/// # Errors
/// If it is neither, with similar commands.
pub(super) fn check(typed: &[OsString]) -> Result<(), Failure> {
    let word = typed.first().and_then(|first| first.to_str()).filter(|word| is_word(word));
    let Some(word) = word.filter(|word| fs::symlink_metadata(word).is_err()) else { return Ok(()) };
    let program = Cli::command();
    if let Some(message) = omitted(word) {
        return Err(Failure::Usage(message));
    }
    let commands: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
    let mut with_perf: BTreeSet<&str> = commands.iter().copied().collect();
    for name in perf::commands() {
        with_perf.insert(name);
    }
    if with_perf.contains(word) {
        return Ok(());
    }
    let with_perf: Vec<_> = with_perf.into_iter().collect();
    if let [similar] = similar(word, &with_perf)[..]
        && let Some(message) = perf::instead_of(&[&[similar.into()], &typed[1..]].concat())
    {
        return Err(Failure::Usage(format!("'{word}' is neither a command nor a file; {message}")));
    }
    let hint = hint(word, &with_perf);
    let list = if hint.is_empty() { format!("expected one of: {}", commands.join(", ")) } else { hint };
    Err(Failure::Usage(format!("'{word}' is neither a command nor a file; {}", list.trim_end())))
}

/// Whether a text has the form of a command.
fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_an_extension_or_a_path_are_no_commands() {
        assert!(is_word("report") && is_word("buildid-list"));
        assert!(!is_word("perf.data") && !is_word("./report") && !is_word("-") && !is_word("") && !is_word("-x"));
    }
}
