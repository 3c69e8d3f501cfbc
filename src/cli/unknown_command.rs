//! A first word that is neither a command nor a file.

use super::args::Cli;
use super::failure::Failure;
use clap::CommandFactory;
use std::fs;
use std::path::Path;

/// Demands that an input which looks like a command is a file.
///
/// # Errors
/// Where no file has that name, with the commands that have a similar one.
pub fn check(input: Option<&Path>) -> Result<(), Failure> {
    let word = input.and_then(Path::to_str).filter(|word| is_word(word) && fs::symlink_metadata(word).is_err());
    let Some(word) = word else { return Ok(()) };
    let program = Cli::command();
    let commands: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
    let commands = match similar(word, &commands) {
        similar if similar.is_empty() => format!("the commands are {}", commands.join(", ")),
        similar => format!("similar: {}", similar.join(", ")),
    };
    Err(Failure::Usage(format!(
        "unknown command '{word}', and no file has that name; {commands}; name a file by its path (./{word})"
    )))
}

/// Whether a text has the form of a command.
fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(char::is_alphabetic) && chars.all(|c| c.is_alphanumeric() || c == '-' || c == '_')
}

/// The commands nearest to a word, if they differ in at most half of their letters.
fn similar<'a>(word: &str, commands: &[&'a str]) -> Vec<&'a str> {
    let distances: Vec<_> = commands.iter().map(|command| (distance(word, command), *command)).collect();
    let nearest = distances.iter().map(|(distance, _)| *distance).min().unwrap_or(0);
    let is_similar = |command: &str| nearest * 2 <= word.chars().count().max(command.len());
    let found = distances.into_iter().filter(|&(distance, command)| distance == nearest && is_similar(command));
    found.map(|(_, command)| command).collect()
}

/// How many letters must be replaced, added or removed to turn one word into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<_> = other.chars().collect();
    let mut row: Vec<_> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, &its) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != its);
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
    fn similar_commands_differ_in_few_letters() {
        let commands = ["convert", "repair", "merge", "check", "diff"];
        assert_eq!(distance("report", "repair"), 3);
        assert_eq!(distance("", "diff"), 4);
        assert_eq!(similar("report", &commands), ["repair"]);
        assert_eq!(similar("chek", &commands), ["check"]);
        assert!(similar("top", &commands).is_empty() && similar("completions", &commands).is_empty());
    }

    #[test]
    fn names_with_an_ending_or_a_path_are_no_commands() {
        assert!(is_word("report") && is_word("buildid-list"));
        assert!(!is_word("perf.data") && !is_word("./report") && !is_word("-") && !is_word("") && !is_word("-x"));
    }
}
