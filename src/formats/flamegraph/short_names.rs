//! Short names in flame graphs.
//!
//! The library knows one name of a frame, by which it merges frames, and derives label and title from it. Frames are drawn with both
//! names, the short one first, so that different functions of equal short names stay different; then labels lose the full names,
//! and titles get them on a second line. The program in the image takes labels from the first line of titles; it searches both.

use std::io::{Result, Write};

/// Separates the short from the full name. Names have no control characters: they are escaped.
const SEPARATOR: char = '\u{1f}';

/// What the program in the image reads labels with, and with what they are read instead: without the second line.
const LABEL: &str = r#"find_child(e, "title").textContent.replace("#;
const FIRST_LINE: &str = r#"find_child(e, "title").textContent.split("\n")[0].replace("#;

/// The names of a frame as one.
pub(super) fn joined_names(short: &str, full: &str) -> String {
    format!("{short}{SEPARATOR}{full}")
}

/// Writes an image of frames with joined names.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write_short_names(image: &str, out: &mut dyn Write) -> Result<()> {
    let image = image.replace(LABEL, FIRST_LINE);
    let mut elements = image.split('<');
    out.write_all(elements.next().unwrap_or_default().as_bytes())?;
    for element in elements {
        let Some((short, full)) = element.split_once(SEPARATOR) else {
            write!(out, "<{element}")?;
            continue;
        };
        match full.rsplit_once(" (").filter(|_| element.starts_with("title>")) {
            Some((full, counts)) => write!(out, "<{short} ({counts}\n{full}")?,
            None => write!(out, "<{short}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_titles_have_both_names() {
        let name = joined_names("f&lt;...&gt;", "void f&lt;A (B)&gt;");
        let image = format!(
            "<title>{name} (5 samples, 1.00%)</title><text x=\"1\">{name}</text><text>f&lt;..</text><title>main (5 samples, 1.00%)</title>"
        );
        let expected = "<title>f&lt;...&gt; (5 samples, 1.00%)\nvoid f&lt;A (B)&gt;</title><text x=\"1\">f&lt;...&gt;</text>\
                        <text>f&lt;..</text><title>main (5 samples, 1.00%)</title>";
        let mut out = Vec::new();
        write_short_names(&image, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
