//! Flame graphs whose colors are a ratio of two events.
//!
//! The library derives colors from names, by which it merges frames. Frames are drawn with names that end with their color, which
//! is that of their stack: equal stacks have one color. Then names lose it, and rectangles get it.

use super::Flamegraph;
use crate::formats::folded::FoldedStacks;
use crate::profile::{Profile, Row};
use crate::report::Counts;
use crate::report::ratio::{EventRatio, MIN_SAMPLES};
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::printable;
use perf_data::stream::events::EventIndex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Separates a name from its color. Names have no control characters: they are escaped.
const SEPARATOR: char = '\u{1e}';

/// Digits of a color.
const DIGITS: usize = 6;

/// Colors as red, green and blue: of at most a quarter of the ratio of all samples, of this, and of at least four times as much. Blue
/// and orange differ for all kinds of color vision.
const COLORS: [[f64; 3]; 3] = [[90.0, 150.0, 215.0], [245.0, 245.0, 245.0], [238.0, 135.0, 50.0]];

/// Color of frames with too few samples.
const FEW: &str = "b4b4b4";

/// A frame of a stack, with the counts of all samples in it.
#[derive(Default)]
struct Node {
    /// Numerator and denominator.
    counts: [Counts; 2],
}

/// The names of a stack with their colors, and its count.
type ColoredStack = (Vec<String>, u64);

/// Stacks as a tree, with the counts of a ratio.
struct RatioTree {
    nodes: Vec<Node>,
    by_frame: HashMap<(usize, Vec<u8>), usize>,
    is_reversed: bool,
}

/// The part of a profile with the samples of an event, whose values are numbers of samples if requested.
pub(super) fn event_part(profile: &Profile, event: EventIndex, is_by_samples: bool) -> Profile {
    let rows = profile.rows.iter().filter(|row| row.event == event);
    let rows = rows.map(|row| Row { value: if is_by_samples { row.samples } else { row.value }, ..*row });
    Profile {
        tables: Arc::clone(&profile.tables),
        rows: rows.collect(),
        has_samples: BTreeSet::from([event]),
        has_selected_labels: profile.has_selected_labels,
        is_by_samples: profile.is_by_samples,
        ..Profile::default()
    }
}

impl RatioTree {
    fn new(profile: &Profile, graph: &Flamegraph, ratio: &EventRatio) -> Result<Self> {
        let mut tree = Self { nodes: vec![Node::default()], by_frame: HashMap::new(), is_reversed: graph.reverse };
        for (side, event) in ratio.events.into_iter().enumerate() {
            for is_by_samples in [false, true] {
                let part = event_part(profile, event, is_by_samples);
                let stacks =
                    FoldedStacks::with_names(&part, &graph.stacks, printable::name, profile.tables.function_names)?;
                for (frames, count) in stacks.sorted() {
                    let frames: Vec<&[u8]> = frames.collect();
                    let counts = if is_by_samples {
                        Counts { samples: count, value: 0 }
                    } else {
                        Counts { samples: 0, value: count }
                    };
                    tree.add(&frames, side, counts);
                }
            }
        }
        Ok(tree)
    }

    fn add(&mut self, frames: &[&[u8]], side: usize, counts: Counts) {
        let Self { nodes, by_frame, is_reversed } = self;
        nodes[0].counts[side] += counts;
        let mut parent = 0;
        let mut add = |frame: &[u8]| {
            parent = *by_frame.entry((parent, frame.to_vec())).or_insert_with(|| {
                nodes.push(Node::default());
                nodes.len() - 1
            });
            nodes[parent].counts[side] += counts;
        };
        match is_reversed {
            true => frames.iter().rev().for_each(|frame| add(frame)),
            false => frames.iter().for_each(|frame| add(frame)),
        }
    }

    /// The colors of the frames of a stack.
    fn colors(&self, frames: &[&[u8]], ratio: &EventRatio) -> Vec<String> {
        let mut parent = Some(0);
        let mut color = |frame: &[u8]| {
            parent = parent.and_then(|parent| self.by_frame.get(&(parent, frame.to_vec())).copied());
            let counts = parent.map_or([Counts::default(); 2], |node| self.nodes[node].counts);
            color(ratio.shade(counts, self.nodes[0].counts))
        };
        if !self.is_reversed {
            return frames.iter().map(|frame| color(frame)).collect();
        }
        let mut colors: Vec<_> = frames.iter().rev().map(|frame| color(frame)).collect();
        colors.reverse();
        colors
    }
}

/// The color of a shade as hexadecimal digits.
fn color(shade: Option<f64>) -> String {
    let Some(shade) = shade else { return FEW.to_owned() };
    let [low, middle, high] = COLORS;
    let end = if shade < 0.0 { low } else { high };
    let parts = middle.iter().zip(end).map(|(middle, end)| (middle + (end - middle) * shade.abs()).round() as u8);
    parts.map(|part| format!("{part:02x}")).collect()
}

/// A text without what would end the name, and with its color.
fn with_color(name: &str, color: &str) -> String {
    format!("{name}{SEPARATOR}{color}")
}

/// Appends colors to the names of stacks, and describes the colors.
///
/// # Errors
/// If the stacks cannot be folded.
pub(super) fn color_stacks(
    profile: &Profile,
    graph: &Flamegraph,
    ratio: &EventRatio,
    stacks: &FoldedStacks,
    name: impl Fn(&[u8]) -> String,
) -> Result<(Vec<ColoredStack>, String)> {
    let tree = RatioTree::new(profile, graph, ratio)?;
    let lines = stacks.sorted().map(|(frames, count)| {
        let frames: Vec<&[u8]> = frames.collect();
        let colors = tree.colors(&frames, ratio);
        let names = frames.iter().zip(&colors).map(|(frame, color)| with_color(&name(frame), color));
        (names.collect(), count)
    });
    let whole = ratio.value(tree.nodes[0].counts);
    let value = |factor: f64| whole.map_or_else(|| "-".to_owned(), |whole| format!("{:.3}", whole * factor));
    let legend = format!(
        "{}: blue {} or less, white {} as of all, orange {} or more; gray: fewer than {MIN_SAMPLES} samples",
        printable::name(&ratio.title),
        value(0.25),
        value(1.0),
        value(4.0),
    );
    Ok((lines.collect(), legend))
}

/// Moves colors from names to rectangles.
pub(super) fn colored(image: &str) -> String {
    let mut elements = image.split('<');
    let mut text = elements.next().unwrap_or_default().to_owned();
    let mut color: Option<&str> = None;
    for element in elements {
        text.push('<');
        if let Some((name, rest)) = element.split_once(SEPARATOR) {
            text += name;
            // A label that is cut within the color has the whole name.
            if let Some(rest) = element.starts_with("title>").then(|| rest.split_at_checked(DIGITS)).flatten() {
                color = Some(rest.0);
                text += rest.1;
            }
            continue;
        }
        match (element.split_once("fill=\""), element.starts_with("rect ").then(|| color.take()).flatten()) {
            (Some((before, after)), Some(color)) => {
                let (_, after) = after.split_once('"').unwrap_or_default();
                text += &format!("{before}fill=\"#{color}\"{after}");
            }
            _ => text += element,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_between_blue_and_orange() {
        assert_eq!([Some(-1.0), Some(0.0), Some(1.0), None].map(color), ["5a96d7", "f5f5f5", "ee8732", FEW]);
    }

    #[test]
    fn rectangles_have_the_colors_of_names() {
        let image = "<g><title>f\u{1e}5a96d7 (5 events, 50.00%)</title><rect x=\"1\" fill=\"rgb(1,2,3)\" y=\"2\"/><text>f\u{1e}5a..\
                     </text></g><g><title>all (10 events, 100%)</title><rect fill=\"rgb(1,2,3)\"/><text>all</text></g>";
        let expected = "<g><title>f (5 events, 50.00%)</title><rect x=\"1\" fill=\"#5a96d7\" y=\"2\"/><text>f\
                        </text></g><g><title>all (10 events, 100%)</title><rect fill=\"rgb(1,2,3)\"/><text>all</text></g>";
        assert_eq!(colored(image), expected);
    }
}
