//! Links between the pages.

use super::ROOT;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// The links of a page to files of the repository, and to headings in these, that do not exist.
pub(super) fn broken(page: &str) -> Vec<String> {
    let path = Path::new(ROOT).join(page);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
    let mut broken = Vec::new();
    for target in targets(&text) {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        if file.contains("://") {
            continue;
        }
        let linked = if file.is_empty() { path.clone() } else { path.with_file_name("").join(file) };
        let has_anchor = || fs::read_to_string(&linked).is_ok_and(|text| anchors(&text).contains(anchor));
        if !linked.exists() || !anchor.is_empty() && !has_anchor() {
            broken.push(format!("{page}: {target}"));
        }
    }
    broken
}

/// What stands in `](...)`, outside of blocks.
fn targets(text: &str) -> Vec<&str> {
    let prose = outside_blocks(text);
    prose.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next())).collect()
}

/// The anchors of headings, by the rules of GitHub.
fn anchors(text: &str) -> HashSet<String> {
    let headings = outside_blocks(text).filter_map(|line| line.strip_prefix('#'));
    headings
        .map(|heading| {
            let text = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.map(|c| if c == ' ' { '-' } else { c }).collect()
        })
        .collect()
}

fn outside_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Option<&str> = None;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        let fence = &line[..line.len() - line.trim_start_matches('`').len()];
        match open {
            None if fence.len() >= 3 => open = Some(fence),
            None => return true,
            Some(end) if line.trim_end() == end => open = None,
            Some(_) => {}
        }
        false
    })
}
