//! Completions for Nushell, which clap_complete only has without values of recordings.

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::EnvCompleter;
use serde_json::json;
use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

/// Nushell 0.108 or later.
pub struct Nushell;

impl EnvCompleter for Nushell {
    fn name(&self) -> &'static str {
        "nushell"
    }

    fn is(&self, name: &str) -> bool {
        name == self.name() || name == "nu"
    }

    fn write_registration(&self, var: &str, name: &str, bin: &str, completer: &str, out: &mut dyn Write) -> Result<()> {
        write!(
            out,
            r#"# Completions of {name} for Nushell 0.108 or later: source this file in config.nu.
def "nu-complete {name}" [words: list<string>] {{
  with-env {{ {var}: nushell }} {{ ^{completer} -- ...$words }} | from json
}}

@complete "nu-complete {name}"
export extern {bin} [...args]
"#
        )
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        directory: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let last = words.len().saturating_sub(1);
        let candidates = complete(command, words, last, directory)?;
        let candidates = candidates.iter().map(|candidate| {
            let value = quoted(&candidate.get_value().to_string_lossy());
            json!({ "value": value, "description": candidate.get_help().map(ToString::to_string) })
        });
        serde_json::to_writer(out, &candidates.collect::<Vec<_>>())?;
        Ok(())
    }
}

/// A word, in quotes if Nushell would not read it as one.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%~".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}
