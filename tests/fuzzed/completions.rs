//! Names of a recording as completions: a shell reads each as one word with the name, and runs nothing.

#[path = "../../src/cli/completions/shell_word.rs"]
mod shell_word;

use std::cell::RefCell;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

thread_local! {
    /// Started once: a start takes a millisecond.
    static BASH: RefCell<Option<Bash>> = RefCell::new(Bash::start());
}

/// Any text as a name.
pub fn completion(bytes: &[u8]) {
    let Ok(name) = str::from_utf8(bytes) else { return };
    if !shell_word::is_value(name) {
        return;
    }
    if let Some(word) = shell_word::bash(name) {
        assert_eq!(shell_word::bash_unescaped(&word), name, "{word:?}");
        BASH.with_borrow_mut(|bash| {
            let Some(bash) = bash else { return };
            assert_eq!(String::from_utf8_lossy(&bash.read(&word)), name, "{word:?}");
        });
    }
    // These shells quote what they insert.
    for word in [shell_word::elvish(name), shell_word::fish(name)].into_iter().flatten() {
        assert_eq!(word, name);
    }
    if let Some(word) = shell_word::nushell(name) {
        assert_eq!(nushell(&word).as_deref(), Some(name), "{word:?}");
    }
    if let Some(word) = shell_word::powershell(name) {
        assert_eq!(powershell(&word).as_deref(), Some(name), "{word:?}");
    }
    if let Some(word) = shell_word::zsh(name) {
        assert_eq!(zsh(&word), name, "{word:?}");
    }
}

/// bash that prints words. It is restricted and has no path, so that a word that it would run does no harm.
struct Bash {
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Bash {
    /// Starts it; `None` without bash, where the words are only compared with what the grammar says.
    fn start() -> Option<Self> {
        let mut command = Command::new("bash");
        command.args(["--norc", "--noprofile"]).env("LC_ALL", "C.UTF-8").env_remove("BASH_ENV");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            started => started.expect("bash should start"),
        };
        let (input, output) = shell.stdin.take().zip(shell.stdout.take()).expect("both are pipes");
        let mut bash = Self { shell, input, output: BufReader::new(output) };
        writeln!(bash.input, "PATH=; set -r").expect("a running shell");
        assert_eq!(bash.read("a\\ b"), b"a b");
        Some(bash)
    }

    /// What a program would get for a word.
    fn read(&mut self, word: &str) -> Vec<u8> {
        // More than one word would print more than one text; what it runs prints something, or ends the shell.
        writeln!(self.input, "printf '<%s>' {word}; printf '\\0'").expect("a running shell");
        let mut read = Vec::new();
        self.output.read_until(0, &mut read).expect("a running shell");
        let inner = read.strip_prefix(b"<").and_then(|rest| rest.strip_suffix(b">\0"));
        inner.map_or_else(|| read.clone(), <[u8]>::to_vec)
    }
}

impl Drop for Bash {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Characters that neither Nushell nor PowerShell interprets anywhere in a word.
fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || "-_./:=+%,@".contains(c)
}

/// A word of Nushell: bare, or in double quotes, in which a backslash comes before a quote or another.
fn nushell(word: &str) -> Option<String> {
    let Some(inner) = word.strip_prefix('"') else { return word.chars().all(is_bare).then(|| word.to_owned()) };
    let mut chars = inner.strip_suffix('"')?.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| matches!(c, '\\' | '"'))?),
            '"' => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

/// A word of PowerShell: bare, or in single quotes, of which it has five, and which are doubled inside.
fn powershell(word: &str) -> Option<String> {
    let is_quote = |c: char| matches!(c, '\'' | '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}');
    let Some(inner) = word.strip_prefix('\'') else {
        return word.chars().all(|c| is_bare(c) && c != ',' && c != '@').then(|| word.to_owned());
    };
    let mut chars = inner.strip_suffix('\'')?.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        if is_quote(c) && !chars.next().is_some_and(is_quote) {
            return None;
        }
        text.push(c);
    }
    Some(text)
}

/// A value of zsh's `_describe`: what is before the first colon without a backslash.
fn zsh(word: &str) -> String {
    let mut chars = word.chars();
    let mut text = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next()),
            ':' => break,
            c => text.push(c),
        }
    }
    text
}
