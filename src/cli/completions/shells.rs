//! Adapters for shells that insert a completion as it is. Names of files and of things in a recording can contain anything that such a
//! shell would run, so they are quoted here. zsh, fish and Elvish quote what they insert.

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::{self, EnvCompleter};
use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

/// The variable with the index of the word to complete.
const INDEX: &str = "PERFCONV_COMPLETE_INDEX";

/// bash. The adapter of clap_complete has the shell expand patterns in what it prints, and splits it at a control character.
pub struct Bash;

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
        let index = std::env::var(INDEX).ok().and_then(|index| index.parse::<usize>().ok()).unwrap_or_default();
        // What a completion inserted before has backslashes.
        if let Some(word) = words.get_mut(index)
            && let Some(text) = word.to_str()
        {
            *word = unescaped(text).into();
        }
        for (value, _) in candidates(command, words, index, directory)? {
            writeln!(out, "{}", bash_word(&value))?;
        }
        Ok(())
    }
}

/// PowerShell.
pub struct Powershell;

impl EnvCompleter for Powershell {
    fn name(&self) -> &'static str {
        env::Powershell.name()
    }

    fn is(&self, name: &str) -> bool {
        env::Powershell.is(name)
    }

    fn write_registration(&self, var: &str, name: &str, bin: &str, completer: &str, out: &mut dyn Write) -> Result<()> {
        env::Powershell.write_registration(var, name, bin, completer, out)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        directory: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let index = words.len().saturating_sub(1);
        for (value, help) in candidates(command, words, index, directory)? {
            let value = powershell_word(&value);
            match help.as_deref().and_then(|help| help.lines().next()) {
                Some(help) => writeln!(out, "{value}\t{help}")?,
                None => writeln!(out, "{value}")?,
            }
        }
        Ok(())
    }
}

/// The completions of a word with their descriptions, without those that are no line of text.
fn candidates(
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

/// Whether text has no control characters, which end lines, and which terminals and shells interpret.
pub fn is_line(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// Characters that no shell interprets in a word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_./:=+%".contains(c)
}

/// A word with a backslash before what bash interprets. Quotes would keep the user from continuing a directory or an option.
fn bash_word(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len());
    for c in word.chars() {
        if !is_plain(c) && !matches!(c, ',' | '@' | '^') && c.is_ascii() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A word without the backslashes before its characters.
fn unescaped(word: &str) -> String {
    let mut chars = word.chars();
    let mut plain = String::with_capacity(word.len());
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

/// A word in quotes if PowerShell would not read it as one. Typographic quotes end a string, too.
fn powershell_word(word: &str) -> String {
    if word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("'");
    for c in word.chars() {
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            quoted.push(c);
        }
        quoted.push(c);
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_each_shell() {
        for (word, bash, powershell) in [
            ("cpu-clock", "cpu-clock", "cpu-clock"),
            ("--sort=", "--sort=", "--sort="),
            ("a dir/", "a\\ dir/", "'a dir/'"),
            ("$(x)`y`;z", "\\$\\(x\\)\\`y\\`\\;z", "'$(x)`y`;z'"),
            ("it's", "it\\'s", "'it''s'"),
            ("\u{2019}; x", "\u{2019}\\;\\ x", "'\u{2019}\u{2019}; x'"),
            ("~", "\\~", "'~'"),
        ] {
            assert_eq!((&*bash_word(word), &*powershell_word(word)), (bash, powershell));
            assert_eq!(unescaped(bash), word);
        }
        assert!(is_line("a b") && !is_line("a\x0bb") && !is_line("a\nb") && !is_line("\x1b[0m") && !is_line("\u{85}"));
    }
}
