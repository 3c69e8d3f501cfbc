//! Rejects a first argument that is neither a command nor a file.

use super::args::Cli;
use super::failure::Failure;
use clap::CommandFactory;
use perfconv::formats::omitted::omitted;
use perfconv::suggest::hint;
use std::fs;
use std::path::Path;

/// Rejects an input that looks like a command unless a file has its name.
///
/// # Errors
/// If no file has that name, with similar commands.
pub(super) fn check(input: Option<&Path>) -> Result<(), Failure> {
    let word = input.and_then(Path::to_str).filter(|word| is_word(word) && fs::symlink_metadata(word).is_err());
    let Some(word) = word else { return Ok(()) };
    if let Some(message) = omitted(word) {
        return Err(Failure::Usage(message));
    }
    let program = Cli::command();
    let commands: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
    let (hint, commands) = (hint(word, &commands), commands.join(", "));
    Err(Failure::Usage(format!(
        "unknown command '{word}', and no file has that name; {hint}expected one of: {commands}; or a file by its path (./{word})"
    )))
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
