//! Short names of Go: without the directories of import paths.

use super::short_name::ShortName;

/// The short form of a linker symbol: `pkg.(*T).Method` of `github.com/org/proj/pkg.(*T).Method`. Type arguments lose their
/// directories, too. Functions that the compiler generates for types are shown unchanged.
pub(super) fn shorten(name: &str) -> ShortName {
    let mut short = ShortName::default();
    if name.starts_with("type:") || name.starts_with("go:") {
        return ShortName::unchanged(name);
    }
    let mut rest = name;
    while let Some(char) = rest.chars().next() {
        let len = rest.find(|char| !is_in_path(char)).unwrap_or(rest.len());
        let path = &rest[..len];
        match path.rfind('/') {
            // A slash at the end is no separator.
            Some(slash) if slash + 1 < len => {
                short.omit(&path[..=slash]);
                // The linker escapes dots in the last element of a path.
                short.push(&path[slash + 1..].replace("%2e", "."));
            }
            _ => short.push(path),
        }
        let len = if len == 0 { char.len_utf8() } else { len };
        if path.is_empty() {
            short.push(&rest[..len]);
        }
        rest = &rest[len..];
    }
    short
}

fn is_in_path(char: char) -> bool {
    char.is_alphanumeric() || "/._-~%+$@".contains(char)
}
