//! Adapters of shells. Those of clap_complete print words that some shells would expand or run, and have bash expand patterns in what
//! they print, so that only their scripts are used.

use super::shell_word::{self, bash_unescaped, is_line};
use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::{self, EnvCompleter};
use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

/// The variable with the index of the word to complete, in scripts of shells that pass the words after it, too.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// Elvish.
pub(super) const ELVISH: ScriptedShell = ScriptedShell { adapter: &env::Elvish, word: shell_word::elvish, help: None };
/// fish.
pub(super) const FISH: ScriptedShell =
    ScriptedShell { adapter: &env::Fish, word: shell_word::fish, help: Some(after_tab) };
/// PowerShell.
pub(super) const POWERSHELL: ScriptedShell =
    ScriptedShell { adapter: &env::Powershell, word: shell_word::powershell, help: Some(after_tab) };
/// zsh.
pub(super) const ZSH: ScriptedShell = ScriptedShell {
    adapter: &env::Zsh,
    word: shell_word::zsh,
    help: Some(|help| format!(":{}", help.replace('\\', "\\\\"))),
};

fn after_tab(help: &str) -> String {
    format!("\t{help}")
}

/// A shell with the script of clap_complete, which reads completions line by line.
pub(super) struct ScriptedShell {
    adapter: &'static dyn EnvCompleter,
    word: fn(&str) -> Option<String>,
    /// A description as it follows the value, if the shell shows descriptions.
    help: Option<fn(&str) -> String>,
}

impl EnvCompleter for ScriptedShell {
    fn name(&self) -> &'static str {
        self.adapter.name()
    }

    fn is(&self, name: &str) -> bool {
        self.adapter.is(name)
    }

    fn write_registration(&self, var: &str, name: &str, bin: &str, completer: &str, out: &mut dyn Write) -> Result<()> {
        self.adapter.write_registration(var, name, bin, completer, out)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        mut words: Vec<OsString>,
        directory: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let index = index(&words);
        // zsh does not pass an empty word.
        words.resize(words.len().max(index + 1), OsString::new());
        for (value, help) in candidates(command, words, index, directory)? {
            let Some(word) = (self.word)(&value) else { continue };
            let help = self.help.zip(help.as_deref().and_then(|help| help.lines().next()));
            writeln!(out, "{word}{}", help.map_or_else(String::new, |(shown, help)| shown(help)))?;
        }
        Ok(())
    }
}

/// bash.
pub(super) struct Bash;

impl EnvCompleter for Bash {
    fn name(&self) -> &'static str {
        env::Bash.name()
    }

    fn is(&self, name: &str) -> bool {
        env::Bash.is(name)
    }

    fn write_registration(&self, var: &str, name: &str, bin: &str, completer: &str, out: &mut dyn Write) -> Result<()> {
        write!(
            out,
            r#"# Completions of {name} for bash: source this file in ~/.bashrc.
_clap_complete_{name}() {{
    local candidate has_compopt words=("${{COMP_WORDS[@]}}")
    # Without compopt, before bash 4, no completion is followed by a space.
    compopt +o nospace 2> /dev/null && has_compopt=1
    [[ "${{BASH_VERSINFO[0]}}" -ge 4 ]] && words[COMP_CWORD]="$2"
    COMPREPLY=()
    while IFS= read -r candidate; do
        COMPREPLY+=("$candidate")
    done < <({INDEX}="$COMP_CWORD" {var}=bash {completer} -- "${{words[@]}}")
    if [[ -n "$has_compopt" && "${{COMPREPLY-}}" == *[=/:] ]]; then
        compopt -o nospace
    fi
}}
if [[ "${{BASH_VERSINFO[0]}}" -eq 4 && "${{BASH_VERSINFO[1]}}" -ge 4 || "${{BASH_VERSINFO[0]}}" -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_{name} {bin}
else
    complete -o nospace -o bashdefault -F _clap_complete_{name} {bin}
fi
"#
        )
    }

    fn write_complete(
        &self,
        command: &mut Command,
        mut words: Vec<OsString>,
        directory: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let index = index(&words);
        // What a completion inserted before has backslashes.
        if let Some(word) = words.get_mut(index)
            && let Some(text) = word.to_str()
        {
            *word = bash_unescaped(text).into();
        }
        let candidates = candidates(command, words, index, directory)?;
        candidates.iter().filter_map(|(value, _)| shell_word::bash(value)).try_for_each(|word| writeln!(out, "{word}"))
    }
}

/// The index of the word to complete; without the variable it is the last.
fn index(words: &[OsString]) -> usize {
    let index = std::env::var(INDEX).ok().and_then(|index| index.parse().ok());
    index.filter(|&index: &usize| index <= words.len()).unwrap_or(words.len().saturating_sub(1))
}

/// The completions of a word with their descriptions, without those that are no line of text.
pub(super) fn candidates(
    command: &mut Command,
    words: Vec<OsString>,
    index: usize,
    directory: Option<&Path>,
) -> Result<Vec<(String, Option<String>)>> {
    let candidates = complete(command, words, index, directory)?.into_iter().filter_map(|candidate| {
        let value = candidate.get_value().to_str().filter(|value| is_line(value))?.to_owned();
        Some((value, candidate.get_help().map(ToString::to_string)))
    });
    Ok(candidates.collect())
}
