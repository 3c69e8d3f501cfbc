//! Flame graphs: an SVG image with search and zoom, drawn by the inferno library.

mod ratio_colors;
mod short_names;

use super::folded::{Folded, FoldedStacks};
use super::{Format, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
#[cfg(feature = "cli")]
use crate::option_values::number_in;
use crate::profile::Profile;
use crate::profile::accesses::Accesses;
use crate::profile::event::{ProfileEvent, Unit};
use crate::profile::labels::Label;
use crate::report::ratio::EventRatio;
use hashbrown::HashMap;
use inferno::differential;
use inferno::flamegraph::color::{BasicPalette, MultiPalette};
use inferno::flamegraph::{self, Direction, Options, Palette};
use perf_data::error::{Error, Result};
use perf_data::printable;
use ratio_colors::{color_stacks, colored, event_part};
use short_names::{joined_names, write_short_names};
use std::borrow::Cow;
use std::io::Write;

/// Flame graphs.
pub const FORMAT: Format = Format {
    extensions: &[("svg", None)],
    output: Some(OutputType::of::<Flamegraph>()),
    functions: ShowsFunctions::Always,
    has_short_names: true,
    ..Format::new("flamegraph", "SVG image of all stacks, with search and zoom")
};

/// Number of events that a title lists, in the width of an image.
const MAX_LISTED: usize = 3;

/// A flame graph with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Flamegraph {
    /// Title of the image [default: that of the profile's event].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT", value_parser = crate::option_values::title))]
    pub title: Option<String>,

    /// Colors of frames.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "PALETTE", default_value_t))]
    pub colors: Colors,

    /// Color frames by the ratio of two events, such as instructions/cycles, or by one of ipc, mpki, branch-miss-rate,
    /// cache-miss-rate. Their width is a time, or else cycles or the denominator.
    #[cfg_attr(feature = "cli", arg(long, value_name = "A/B[*K]"))]
    pub ratio: Option<String>,

    /// Width of the image [default: that of the window].
    #[cfg_attr(feature = "cli", arg(long, value_name = "PIXELS", value_parser = number_in::<u32>(100, 100_000)))]
    pub width: Option<u32>,

    /// Draw the root at the top, growing down.
    #[cfg_attr(feature = "cli", arg(long))]
    pub icicle: bool,

    /// Merge stacks from their leaves, to show the callers of each function.
    #[cfg_attr(feature = "cli", arg(long))]
    pub reverse: bool,

    /// What the count of a stack is, the names of frames, and their suffixes.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub stacks: Folded,
}

/// Colors of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Colors {
    /// Red to yellow.
    #[default]
    Hot,
    /// Green to blue.
    Mem,
    /// Blue.
    Io,
    /// Aqua.
    Aqua,
    /// Blue, one hue.
    Blue,
    /// Green.
    Green,
    /// Orange.
    Orange,
    /// Purple.
    Purple,
    /// Red.
    Red,
    /// Yellow.
    Yellow,
    /// By kind, from the suffixes of [`annotate`](Folded::annotate): kernel, inlined, JIT; names of Java and C++.
    #[cfg_attr(
        feature = "cli",
        value(help = "By kind, from the suffixes of --annotate: kernel, inlined, JIT; names of Java and C++")
    )]
    Java,
    /// By kind, for JavaScript.
    Js,
    /// By kind, for Perl.
    Perl,
    /// By kind, for Python.
    Python,
    /// By kind, for Rust.
    Rust,
    /// Aqua on blue.
    Wakeup,
}

impl Colors {
    fn palette(self) -> Palette {
        match self {
            Self::Hot => Palette::Basic(BasicPalette::Hot),
            Self::Mem => Palette::Basic(BasicPalette::Mem),
            Self::Io => Palette::Basic(BasicPalette::Io),
            Self::Aqua => Palette::Basic(BasicPalette::Aqua),
            Self::Blue => Palette::Basic(BasicPalette::Blue),
            Self::Green => Palette::Basic(BasicPalette::Green),
            Self::Orange => Palette::Basic(BasicPalette::Orange),
            Self::Purple => Palette::Basic(BasicPalette::Purple),
            Self::Red => Palette::Basic(BasicPalette::Red),
            Self::Yellow => Palette::Basic(BasicPalette::Yellow),
            Self::Java => Palette::Multi(MultiPalette::Java),
            Self::Js => Palette::Multi(MultiPalette::Js),
            Self::Perl => Palette::Multi(MultiPalette::Perl),
            Self::Python => Palette::Multi(MultiPalette::Python),
            Self::Rust => Palette::Multi(MultiPalette::Rust),
            Self::Wakeup => Palette::Multi(MultiPalette::Wakeup),
        }
    }
}

impl OutputFormat for Flamegraph {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Flamegraph {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(self.stacks.default_labels())
    }

    fn required_labels(&self) -> Vec<Label> {
        self.stacks.group_labels()
    }

    fn accesses(&self) -> Accesses {
        self.stacks.group_accesses()
    }

    /// Draws the stacks; an error if the profile has no samples, or several events, by which they are not grouped.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let Some(ratio) = &self.ratio else { return self.draw(profile, None, out) };
        if profile.base.is_some() {
            return Err(Error::invalid("--ratio colors by one recording; omit --diff"));
        }
        let ratio = EventRatio::new(ratio, None, profile)?;
        let width = event_part(profile, ratio.width_event(profile), profile.is_by_samples);
        self.draw(&width, Some((profile, &ratio)), out)
    }
}

impl Flamegraph {
    /// Draws the stacks of a profile, in the colors of a ratio of another.
    fn draw(&self, profile: &Profile, ratio: Option<(&Profile, &EventRatio)>, out: &mut dyn Write) -> Result<()> {
        let names = profile.tables.function_names;
        let stacks = |profile| FoldedStacks::with_names(profile, &self.stacks, printable::name, names);
        let (after, before) = (stacks(profile)?, profile.base.as_deref().map(stacks).transpose()?);
        // A function of both profiles has the name that it has in this one.
        let short_names = [before.as_ref(), Some(&after)].into_iter().flatten().flat_map(FoldedStacks::short_names);
        let short_names: HashMap<_, _> = short_names.collect();
        // A renamed program has no function under the root of the other, although most are the same.
        let has_default_frames = !profile.has_selected_labels && self.stacks.group_by.is_empty();
        let has_other_threads = before.as_ref().is_some_and(|before| before.roots().is_disjoint(&after.roots()));
        let omitted = usize::from(has_default_frames && has_other_threads);
        let mut options = Options::default();
        let mut lines = match ratio {
            Some((whole, ratio)) => {
                let (stacks, legend) =
                    color_stacks(whole, self, ratio, &after, |frame| displayed_name(frame, &short_names))?;
                options.subtitle = Some(legend);
                stacks.into_iter().map(|(frames, count)| line(frames.into_iter(), count)).collect()
            }
            None => lines(&after, &short_names, omitted),
        };
        if lines.is_empty() {
            return Err(Error::invalid("the profile has no samples to draw".to_owned()));
        }
        options.title = match &self.title {
            Some(title) => printable::name(title).into_owned(),
            None => printable::list(events(profile).map(|event| &event.name), MAX_LISTED, "events"),
        };
        options.colors = self.colors.palette();
        options.image_width = self.width.map(|width| width as usize);
        options.reverse_stack_order = self.reverse;
        if self.icicle {
            options.direction = Direction::Inverted;
        }
        let thousands = thousands(after.total(), usize::MAX as u64);
        options.count_name = in_thousands(unit(profile), thousands);
        options.factor = 1000_f64.powi(-(thousands as i32));
        if let Some(before) = &before {
            lines = differences(&self::lines(before, &short_names, omitted), &lines)?;
        }
        // Equal profiles are equal images.
        options.deterministic = true;
        let lines = lines.iter().map(String::as_str);
        if short_names.is_empty() && ratio.is_none() {
            return flamegraph::from_lines(&mut options, lines, out).map_err(Error::Output);
        }
        let mut image = Vec::new();
        flamegraph::from_lines(&mut options, lines, &mut image).map_err(Error::Output)?;
        let image = String::from_utf8_lossy(&image);
        let image = if ratio.is_some() { Cow::Owned(colored(&image)) } else { image };
        if short_names.is_empty() {
            return out.write_all(image.as_bytes()).map_err(Error::Output);
        }
        write_short_names(&image, out).map_err(Error::Output)
    }
}

/// The events with samples.
fn events(profile: &Profile) -> impl ExactSizeIterator<Item = &ProfileEvent> {
    profile.has_samples.iter().map(|&event| &profile.tables.events[event as usize])
}

/// Unit of the counts.
fn unit(profile: &Profile) -> &'static str {
    if profile.is_by_samples {
        return "samples";
    }
    if events(profile).all(|event| event.unit == Unit::Nanoseconds) { "ns" } else { "events" }
}

/// By which power of 1000 a count is divided to fit in the numbers that the library shows, which are words.
fn thousands(count: u64, most: u64) -> usize {
    (0..).find(|&power| count / 1000_u64.pow(power) <= most).unwrap_or_default() as usize
}

/// The name of a unit times a power of 1000.
fn in_thousands(unit: &str, power: usize) -> String {
    match (unit, power) {
        (_, 0) => unit.to_owned(),
        ("ns", power) => ["µs", "ms", "s"].get(power - 1).copied().unwrap_or("ks").to_owned(),
        (_, 1) => format!("thousand {unit}"),
        _ => format!("million {unit}"),
    }
}

/// Folded stacks without the first frames, in which short names precede full ones.
fn lines(stacks: &FoldedStacks, short_names: &HashMap<&[u8], &str>, omitted: usize) -> Vec<String> {
    let name = |frame| displayed_name(frame, short_names);
    stacks.sorted().map(|(frames, count)| line(frames.skip(omitted).map(name), count)).collect()
}

/// The name of a frame, after its short one.
fn displayed_name(frame: &[u8], short_names: &HashMap<&[u8], &str>) -> String {
    match short_names.get(frame) {
        Some(short) => joined_names(short, &String::from_utf8_lossy(frame)),
        None => String::from_utf8_lossy(frame).into_owned(),
    }
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
fn line(frames: impl Iterator<Item = String>, count: u64) -> String {
    let stack = frames.collect::<Vec<_>>().join(";");
    match stack.rsplit_once(' ') {
        Some((start, end)) if end.starts_with(|char: char| char.is_ascii_digit()) => {
            format!("{start}\u{a0}{end} {count}")
        }
        _ => format!("{stack} {count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_fit_in_words_of_32_bits() {
        let shown = |count, unit| in_thousands(unit, thousands(count, u32::MAX.into()));
        assert_eq!(shown(u32::MAX.into(), "ns"), "ns");
        assert_eq!(shown(4_995_750_000, "ns"), "µs");
        assert_eq!(shown(4_995_750_000, "events"), "thousand events");
        assert_eq!(shown(u64::MAX, "ns"), "ks");
        assert_eq!(thousands(u64::MAX, u64::MAX), 0);
    }
}
