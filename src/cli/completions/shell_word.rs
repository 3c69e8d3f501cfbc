//! What a shell reads as one word: the values of a recording can contain anything that it would run or expand.
//!
//! bash, Nushell and PowerShell insert a completion as it is, so that it is quoted here. Elvish, fish and zsh quote what they
//! insert, except where noted. What has no form is not completed.

/// Whether text has no control characters, which end lines, and which terminals and shells interpret.
pub(super) fn is_line(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

/// Whether a name of a recording can be the value of an option: others are read as an option, or as no value.
pub(super) fn is_value(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && is_line(name)
}

/// Characters that no shell interprets in a word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_./:=+%".contains(c)
}

/// With a backslash before what bash interprets. Quotes would keep the user from continuing a directory or an option.
pub(super) fn bash(word: &str) -> Option<String> {
    let mut escaped = String::with_capacity(word.len());
    for c in word.chars() {
        if !is_plain(c) && !matches!(c, ',' | '@' | '^') && c.is_ascii() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    Some(escaped)
}

/// A word of bash without the backslashes before its characters.
pub(super) fn bash_unescaped(word: &str) -> String {
    let mut chars = word.chars();
    let mut plain = String::with_capacity(word.len());
    while let Some(c) = chars.next() {
        plain.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    plain
}

/// As it is. Elvish quotes it.
pub(super) fn elvish(word: &str) -> Option<String> {
    Some(word.to_owned())
}

/// As it is. fish quotes it, but for a tilde at its start, which it inserts as a home directory.
pub(super) fn fish(word: &str) -> Option<String> {
    (!word.starts_with('~')).then(|| word.to_owned())
}

/// In quotes if Nushell would not read it as one.
pub(super) fn nushell(word: &str) -> Option<String> {
    let is_plain = |c: char| is_plain(c) || matches!(c, ',' | '@');
    Some(match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
    })
}

/// In quotes if PowerShell would not read it as one. Typographic quotes end a string, too.
pub(super) fn powershell(word: &str) -> Option<String> {
    if word.chars().all(is_plain) {
        return Some(word.to_owned());
    }
    let mut quoted = String::from("'");
    for c in word.chars() {
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            quoted.push(c);
        }
        quoted.push(c);
    }
    Some(quoted + "'")
}

/// With a backslash before what would end the value in a list of values and descriptions. zsh quotes it.
pub(super) fn zsh(word: &str) -> Option<String> {
    Some(word.replace('\\', "\\\\").replace(':', "\\:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_each_shell() {
        for (word, as_bash, as_powershell, as_nushell) in [
            ("cpu-clock", "cpu-clock", "cpu-clock", "cpu-clock"),
            ("--sort=", "--sort=", "--sort=", "--sort="),
            ("a dir/", "a\\ dir/", "'a dir/'", "\"a dir/\""),
            ("$(x)`y`;z", "\\$\\(x\\)\\`y\\`\\;z", "'$(x)`y`;z'", "\"$(x)`y`;z\""),
            ("it's", "it\\'s", "'it''s'", "\"it's\""),
            ("\u{2019}; x", "\u{2019}\\;\\ x", "'\u{2019}\u{2019}; x'", "\"\u{2019}; x\""),
            ("~", "\\~", "'~'", "\"~\""),
        ] {
            let words = [bash(word), powershell(word), nushell(word)];
            assert_eq!(words, [as_bash, as_powershell, as_nushell].map(|word| Some(word.to_owned())));
            assert_eq!(bash_unescaped(as_bash), word);
        }
        assert_eq!((fish("a~"), fish("~root")), (Some("a~".to_owned()), None));
        assert_eq!(zsh("a:\\").as_deref(), Some("a\\:\\\\"));
    }

    #[test]
    fn names_with_control_characters_and_names_like_options_are_no_values() {
        let names = ["a b", "", "-x", "--output=x", "a\x0bb", "a\nb", "\x1b[0m", "\u{85}"];
        assert!(names.map(is_value).iter().eq(&[true, false, false, false, false, false, false, false]));
    }
}
