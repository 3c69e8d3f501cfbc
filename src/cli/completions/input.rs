//! The recording that a command line names so far.

use super::super::args::{Cli, DEFAULT_INPUT, command};
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// IDs of arguments that name a recording.
const INPUTS: [&str; 4] = ["input_option", "inputs", "input", "first"];

/// The recording that the words before the cursor name; perf.data without one.
pub(super) fn recording() -> PathBuf {
    named(words(), &INPUTS).unwrap_or_else(|| PathBuf::from(DEFAULT_INPUT))
}

/// The directory with the files of the recorded machine that the words before the cursor name.
pub(super) fn symfs() -> Option<PathBuf> {
    named(words(), &["symfs"])
}

/// The words before the one to complete. Shells pass them after `--`.
fn words() -> Vec<OsString> {
    let mut words: Vec<_> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    words.pop();
    words
}

/// The value of the first of these arguments that the words have.
fn named(words: Vec<OsString>, ids: &[&str]) -> Option<PathBuf> {
    let matches = command::<Cli>().ignore_errors(true).try_get_matches_from(words).ok()?;
    let (_, matches) = matches.subcommand().unwrap_or(("", &matches));
    ids.iter().find_map(|id| value(matches, id)).map(PathBuf::from)
}

fn value(matches: &ArgMatches, id: &str) -> Option<OsString> {
    // A default value names no recording.
    matches.try_contains_id(id).ok()?;
    matches.value_source(id).filter(|source| *source == ValueSource::CommandLine)?;
    Some(matches.get_raw(id)?.next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_recording_in_an_unfinished_command_line() {
        for (line, expected) in [
            ("perfconv", None),
            ("perfconv --event", None),
            ("perfconv a.data -o b.data --comm x,", Some("a.data")),
            ("perfconv -o b.data a.data --event", Some("a.data")),
            ("perfconv report -i a.data --sort", Some("a.data")),
            ("perfconv rewrite a.data --nonsense --pid", Some("a.data")),
            ("perfconv dump a.data --type", Some("a.data")),
            ("perfconv split", None),
            ("perfconv merge a.data b.data -o", Some("a.data")),
        ] {
            let words = line.split(' ').map(OsString::from).collect();
            assert_eq!(named(words, &INPUTS), expected.map(PathBuf::from), "{line}");
        }
    }
}
