//! The recording that a command line names so far.

use super::super::args::{Cli, DEFAULT_INPUT, command};
use clap::ArgMatches;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// IDs of arguments that name a recording.
const INPUTS: [&str; 4] = ["input_option", "inputs", "input", "first"];

/// The recording that the words before the cursor name; perf.data without one. Shells pass the words after `--`.
pub(super) fn recording() -> PathBuf {
    let mut words: Vec<_> = env::args_os().skip_while(|word| word != "--").skip(1).collect();
    // The word to complete.
    words.pop();
    named(words).unwrap_or_else(|| PathBuf::from(DEFAULT_INPUT))
}

fn named(words: Vec<OsString>) -> Option<PathBuf> {
    let matches = command::<Cli>().ignore_errors(true).try_get_matches_from(words).ok()?;
    let (_, matches) = matches.subcommand().unwrap_or(("", &matches));
    INPUTS.iter().find_map(|id| value(matches, id)).map(PathBuf::from)
}

fn value(matches: &ArgMatches, id: &str) -> Option<OsString> {
    Some(matches.try_get_raw(id).ok()??.next()?.to_owned())
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
            ("perfconv split", Some("perf.data")),
            ("perfconv merge a.data b.data -o", Some("a.data")),
        ] {
            let words = line.split(' ').map(OsString::from).collect();
            assert_eq!(named(words), expected.map(PathBuf::from), "{line}");
        }
    }
}
