//! Reports: the functions with the most samples, callers and callees, and source lines, as text, CSV, JSON or Markdown.

mod csv;
mod json;
mod markdown;
mod style;
mod text;

use super::options::{FormatOption, OptionValues, ValueKind};
use super::{Format, WriteProfile, Writer};
use crate::profile::labels::Label;
use crate::profile::{Profile, Row};
use crate::report::Counts;
use crate::report::key::Key;
use crate::report::location::Locations;
use crate::report::top::{Entry, Top};
use perf_data::error::{Error, Result};
use perf_data::stream::events::EventIndex;
use std::io::Write;

/// Reports.
pub const FORMAT: Format = Format {
    writer: Writer::Profile(WriteProfile { labels: Some(&[]), required_labels: LABELS, ..WriteProfile::new(write) }),
    options: &[GROUP_BY, NO_CHILDREN, PERCENT_LIMIT, LIMIT, CALLERS, CALLEES, SYMBOL, LINES, JSON, CSV, COLOR],
    ..Format::new("report", "functions with the most samples, as text")
};

/// Compact reports.
pub const MARKDOWN: Format = Format {
    extensions: &[("md", None), ("markdown", None)],
    writer: Writer::Profile(WriteProfile { labels: Some(&[]), ..WriteProfile::new(markdown::write) }),
    options: &[LIMIT],
    ..Format::new("markdown", "compact report in Markdown")
};

/// Labels that keys need.
const LABELS: &[Label] = &[Label::ThreadComm, Label::Pid, Label::Tid, Label::Cpu];

/// Keys of groups.
pub const GROUP_BY: FormatOption = FormatOption::new(
    "group-by",
    "KEYS",
    "What samples are grouped by, separated by commas [default: comm,dso,sym]",
    ValueKind::List(|| Key::NAMES.iter().map(|(name, _)| *name).collect()),
);

/// Order.
pub const NO_CHILDREN: FormatOption =
    FormatOption::switch("no-children", "Sort by the samples in each function itself, without those in what it calls");

/// Least share.
pub const PERCENT_LIMIT: FormatOption =
    FormatOption::new("percent-limit", "PERCENT", "Omit entries below this share of the event", ValueKind::Percent);

/// Greatest number of entries.
pub const LIMIT: FormatOption = FormatOption::new(
    "limit",
    "N",
    "Print at most N entries of each list [default of text: 1000]",
    ValueKind::Number { min: 1, max: i32::MAX, if_missing: None },
);

/// Callers of a function.
pub const CALLERS: FormatOption = FormatOption::new("callers", "NAME", "Print the callers of a function", NAME);

/// Callees of a function.
pub const CALLEES: FormatOption =
    FormatOption::new("callees", "NAME", "Print the functions that a function calls", NAME);

/// Both.
pub const SYMBOL: FormatOption = FormatOption {
    conflicts: &["callers", "callees"],
    ..FormatOption::new("symbol", "NAME", "Print the callers and callees of a function", NAME)
};

/// Lines of a function.
pub const LINES: FormatOption = FormatOption {
    conflicts: &["callers", "callees", "symbol"],
    ..FormatOption::new("lines", "NAME", "Print the source lines of a function with their samples", NAME)
};

/// As JSON.
pub const JSON: FormatOption = FormatOption {
    conflicts: &["csv", "callers", "callees", "symbol", "lines"],
    ..FormatOption::switch("json", "Print one JSON object")
};

/// As CSV.
pub const CSV: FormatOption = FormatOption {
    conflicts: &["json", "callers", "callees", "symbol", "lines"],
    ..FormatOption::switch("csv", "Print comma-separated values")
};

/// Colors.
pub const COLOR: FormatOption = FormatOption {
    default: Some("never"),
    ..FormatOption::new(
        "color",
        "WHEN",
        "When to color the text",
        ValueKind::Choice(&[("never", "Never"), ("always", "Always")]),
    )
};

const NAME: ValueKind = ValueKind::Text { is_optional: false };

/// Number of entries of a list of text by default.
const MAX_ENTRIES: usize = 1000;

/// Values of the options of a report.
struct Settings {
    keys: Vec<Key>,
    by_total: bool,
    percent_limit: f64,
    limit: usize,
    /// Whether the limit is the default.
    has_default_limit: bool,
}

impl Settings {
    fn new(values: &OptionValues) -> Self {
        let keys = values.list(&GROUP_BY);
        let mut keys: Vec<_> = keys.into_iter().flatten().filter_map(|name| Key::by_name(name)).collect();
        if keys.is_empty() {
            keys.extend(Key::DEFAULT);
        }
        let is_text = !values.is_given(&JSON) && !values.is_given(&CSV);
        let limit = values.number(&LIMIT).map(|limit| limit as usize);
        Self {
            keys,
            by_total: !values.is_given(&NO_CHILDREN),
            percent_limit: values.word(&PERCENT_LIMIT).and_then(|text| text.parse().ok()).unwrap_or(0.0),
            limit: limit.unwrap_or(if is_text { MAX_ENTRIES } else { usize::MAX }),
            has_default_limit: limit.is_none(),
        }
    }

    /// The lists of a report: one of each event, or one of all if it is a key.
    fn lists(&self, profile: &Profile, locations: &Locations) -> impl ExactSizeIterator<Item = Top> {
        let events: Vec<_> = match self.keys.contains(&Key::Event) {
            true => vec![None],
            false => profile.has_samples.iter().copied().map(Some).collect(),
        };
        let list = |event| Top::new(profile, locations, event, &self.keys, self.by_total);
        events.into_iter().map(list)
    }

    /// The entries that the limits permit.
    fn entries<'a>(&self, top: &'a Top) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let Self { by_total, percent_limit, limit, .. } = *self;
        let share = move |entry: &Entry| {
            let counts = if by_total { entry.usage.total } else { entry.usage.own };
            counts.percent_of(top.all_of(entry))
        };
        top.entries.iter().filter(move |entry| share(entry) >= percent_limit).take(limit)
    }
}

/// The rows of an event.
fn rows(profile: &Profile, event: EventIndex) -> impl Iterator<Item = &Row> {
    profile.rows.iter().filter(move |row| row.event == event)
}

/// Counts of all samples of an event.
fn total(profile: &Profile, event: EventIndex) -> Counts {
    rows(profile, event).map(Counts::from).sum()
}

/// Writes a report.
///
/// # Errors
/// If the profile has no function of a requested name, and errors of `out`.
pub fn write(profile: &Profile, values: &OptionValues, out: &mut dyn Write) -> Result<()> {
    let (settings, locations) = (Settings::new(values), Locations::new(&profile.tables));
    if values.is_given(&JSON) {
        return json::write(profile, &locations, &settings, out);
    }
    if values.is_given(&CSV) {
        return csv::write(profile, &locations, &settings, out);
    }
    let page = text::Page::new(profile, &locations, &settings, values.word(&COLOR) == Some("always"));
    let text = match values.word(&LINES) {
        Some(name) => page.lines(name)?,
        None => {
            let symbol = values.word(&SYMBOL);
            match (values.word(&CALLERS).or(symbol), values.word(&CALLEES).or(symbol)) {
                (None, None) => page.functions(),
                (callers, callees) => page.neighbors(callers, callees)?,
            }
        }
    };
    out.write_all(text.as_bytes()).map_err(Error::Output)
}
