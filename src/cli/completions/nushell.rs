//! Completions for Nushell, which clap_complete only has without values of recordings.

use super::shell_word;
use super::shells::candidates;
use clap::Command;
use clap_complete::env::EnvCompleter;
use serde_json::json;
use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

/// Nushell 0.108 or later.
pub(super) struct Nushell;

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
        let candidates = candidates(command, words, last, directory)?;
        let candidates = candidates.iter().filter_map(|(value, help)| {
            shell_word::nushell(value).map(|value| json!({ "value": value, "description": help }))
        });
        serde_json::to_writer(out, &candidates.collect::<Vec<_>>())?;
        Ok(())
    }
}
