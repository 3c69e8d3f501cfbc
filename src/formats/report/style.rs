//! Text of a report: colors and headings.

use crate::profile::Tables;
use crate::profile::event::Unit;
use crate::report::Counts;
use perf_data::printable;
use perf_data::stream::events::EventIndex;

/// Colors, if enabled.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Whether to color.
    pub has_color: bool,
}

impl Style {
    /// A heading.
    pub(super) fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// A share of samples: large ones stand out, as in perf.
    pub(super) fn percent(self, percent: f64) -> String {
        let text = format!("{percent:>6.2}%");
        match percent {
            5.0.. => self.paint("31", &text),
            0.5.. => self.paint("32", &text),
            _ => text,
        }
    }

    /// A change in percentage points, with a sign. One that can be chance is marked.
    pub(super) fn change(self, points: f64, is_noise: bool) -> String {
        let text = format!("{points:>+8.2}{}", if is_noise { '~' } else { ' ' });
        match points {
            _ if is_noise => text,
            0.0.. => self.paint("31", &text),
            _ => self.paint("32", &text),
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.has_color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Appends a line to a string, which cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($text, $($arg)*);
    }};
}

pub(super) use line;

/// Event with its counts: `cycles: 377 samples, 94250000 ns`, or `cycles: 6032 branches`.
pub(super) fn event_line(tables: &Tables, event: EventIndex, counts: Counts) -> String {
    let event = &tables.events[event as usize];
    if tables.counts_branches {
        return format!("{}: {} branches", printable::name(&event.name), counts.samples);
    }
    let unit = match event.unit {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::Count if tables.counts_latency => "cycles",
        Unit::Count => "events",
    };
    format!("{}: {} samples, {} {unit}", printable::name(&event.name), counts.samples, counts.value)
}
