//! Flame graphs: an SVG image with search and zoom, drawn by the inferno library.

use super::folded::{self, FoldedStacks};
use super::options::{FormatOption, OptionValues, ValueKind};
use super::{Format, WriteProfile, Writer};
use crate::profile::Profile;
use crate::profile::event::Unit;
use inferno::differential;
use inferno::flamegraph::{self, Direction, Options};
use perf_data::error::{Error, Result};
use perf_data::printable;
use std::io::Write;

/// Flame graphs.
pub const FORMAT: Format = Format {
    extensions: &[("svg", None)],
    writer: Writer::Profile(WriteProfile { labels: Some(folded::LABELS), ..WriteProfile::new(write) }),
    options: &[TITLE, DIFF, COLORS, WIDTH, ICICLE, REVERSE, folded::WEIGHT, folded::ANNOTATE, folded::ADDRESSES],
    lines: |_| false,
    ..Format::new("flamegraph", "SVG image of all stacks, with search and zoom")
};

/// Title of the image.
pub const TITLE: FormatOption = FormatOption::new(
    "title",
    "TEXT",
    "Title of the image [default: that of the profile's event]",
    ValueKind::Text { is_optional: false },
);

/// Differential graphs.
pub const DIFF: FormatOption = FormatOption {
    conflicts: &["split-by"],
    ..FormatOption::new(
        "diff",
        "BASE",
        "Show how the shares of functions differ from those in this recording",
        ValueKind::File,
    )
};

/// Colors of frames.
pub const COLORS: FormatOption = FormatOption {
    default: Some("hot"),
    ..FormatOption::new(
        "colors",
        "PALETTE",
        "Colors of frames",
        ValueKind::Choice(&[
            ("hot", "Red to yellow"),
            ("mem", "Green to blue"),
            ("io", "Blue"),
            ("aqua", "Aqua"),
            ("blue", "Blue, one hue"),
            ("green", "Green"),
            ("orange", "Orange"),
            ("purple", "Purple"),
            ("red", "Red"),
            ("yellow", "Yellow"),
            ("java", "By kind, from the suffixes of --annotate: kernel, inlined, JIT; names of Java and C++"),
            ("js", "By kind, for JavaScript"),
            ("perl", "By kind, for Perl"),
            ("python", "By kind, for Python"),
            ("rust", "By kind, for Rust"),
            ("wakeup", "Aqua on blue"),
        ]),
    )
};

/// Width of the image.
pub const WIDTH: FormatOption = FormatOption::new(
    "width",
    "PIXELS",
    "Width of the image [default: that of the window]",
    ValueKind::Number { min: 100, max: 100_000, if_missing: None },
);

/// Direction of growth.
pub const ICICLE: FormatOption = FormatOption::switch("icicle", "Draw the root at the top, growing down");

/// Order of frames.
pub const REVERSE: FormatOption =
    FormatOption::switch("reverse", "Merge stacks from their leaves, to show the callers of each function");

/// Draws a profile.
///
/// # Errors
/// If the profile has several events or no samples, and errors of `out`.
pub fn write(profile: &Profile, values: &OptionValues, out: &mut dyn Write) -> Result<()> {
    let stacks = FoldedStacks::new(profile, values, printable::name)?;
    let mut lines = lines(&stacks);
    if lines.is_empty() {
        return Err(Error::invalid("the profile has no samples to draw".to_owned()));
    }
    let event = profile.has_samples.first().map_or("", |&event| &*profile.tables.events[event as usize].name);
    let mut options = Options::default();
    options.title = printable::name(values.word(&TITLE).unwrap_or(event)).into_owned();
    options.colors = values.word(&COLORS).and_then(|name| name.parse().ok()).unwrap_or_default();
    options.image_width = values.number(&WIDTH).map(|width| width as usize);
    options.reverse_stack_order = values.is_given(&REVERSE);
    if values.is_given(&ICICLE) {
        options.direction = Direction::Inverted;
    }
    if values.word(&folded::WEIGHT) != Some("samples") {
        options.count_name = unit(profile).to_owned();
    }
    if let Some(base) = &profile.base {
        lines = differences(&self::lines(&FoldedStacks::new(base, values, printable::name)?), &lines)?;
    }
    // Equal profiles are equal images.
    options.deterministic = true;
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out).map_err(Error::Output)
}

/// Unit of the counts.
fn unit(profile: &Profile) -> &'static str {
    let event = profile.has_samples.first().map(|&event| &profile.tables.events[event as usize]);
    match event.map(|event| event.unit) {
        Some(Unit::Nanoseconds) => "ns",
        _ => "events",
    }
}

/// Folded stacks.
fn lines(stacks: &FoldedStacks) -> Vec<String> {
    stacks.sorted().map(|(frames, count)| line(frames, count)).collect()
}

/// Folded stacks with the counts of two profiles, those of the first scaled to the total of the second.
fn differences(before: &[String], after: &[String]) -> Result<Vec<String>> {
    let options = differential::Options { normalize: true, ..differential::Options::default() };
    let (before, after) = (before.join("\n"), after.join("\n"));
    let mut text = Vec::new();
    differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut text).map_err(Error::Output)?;
    let text = String::from_utf8_lossy(&text);
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Ok(lines)
}

/// A folded stack. The library would take a number at the end of the last name for a count.
fn line<'a>(frames: impl Iterator<Item = &'a [u8]>, count: u64) -> String {
    let stack = frames.map(|frame| String::from_utf8_lossy(frame)).collect::<Vec<_>>().join(";");
    match stack.rsplit_once(' ') {
        Some((start, end)) if end.starts_with(|char: char| char.is_ascii_digit()) => {
            format!("{start}\u{a0}{end} {count}")
        }
        _ => format!("{stack} {count}"),
    }
}
