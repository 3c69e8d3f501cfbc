//! Reports: the functions with the most samples, callers and callees, and source lines, as text, CSV, JSON or Markdown.

mod csv;
mod json;
mod markdown;
pub mod perf;
mod style;
mod text;

use super::{Format, ShowsFunctions};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
#[cfg(feature = "cli")]
use crate::option_values::{number_in, percent};
use crate::profile::labels::Label;
use crate::profile::options::FunctionNames;
use crate::profile::{Profile, Row};
use crate::report::Counts;
use crate::report::key::ReportKey;
use crate::report::location::Locations;
use crate::report::top::{ReportEntry, Top};
use perf_data::error::{Error, Result};
use perf_data::stream::events::EventIndex;
use std::io::Write;
use std::sync::LazyLock;

/// Reports.
pub const FORMAT: Format = Format {
    output: Some(OutputType::of::<Report>()),
    functions: ShowsFunctions::Always,
    has_short_names: true,
    ..Format::new("report", "functions with the most samples, as text")
};

/// Compact reports.
pub const MARKDOWN: Format = Format {
    extensions: &[("md", None), ("markdown", None)],
    output: Some(OutputType::of::<Markdown>()),
    functions: ShowsFunctions::Always,
    has_short_names: true,
    ..Format::new("markdown", "compact report in Markdown")
};

/// Labels that keys need.
static LABELS: LazyLock<Vec<Label>> =
    LazyLock::new(|| ReportKey::NAMES.iter().filter_map(|(_, key)| key.label()).collect());

/// A report with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Report {
    /// What samples are grouped by, separated by commas [default: comm,dso,sym].
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = ReportKey::parser())
    )]
    pub group_by: Vec<ReportKey>,

    /// Which functions it shows, and how.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub contents: Contents,

    /// When to color the text.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "WHEN", default_value_t))]
    pub color: Color,
}

/// Which functions a report shows, and how.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Contents {
    /// Sort by the samples in each function itself, without those in what it calls.
    #[cfg_attr(feature = "cli", arg(long))]
    pub no_children: bool,

    /// Omit entries below this share of the event.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERCENT", value_parser = percent))]
    pub percent_limit: Option<f64>,

    /// Print at most N entries of each list [default of text: 1000].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = number_in::<u32>(1, i32::MAX as u32)))]
    pub limit: Option<u32>,

    /// Print the callers of a function: its name, a part that only it has, or a regular expression.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub callers: Option<String>,

    /// Print the functions that a function, named as for --callers, calls.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub callees: Option<String>,

    /// Print the callers and callees of a function, named as for --callers.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", conflicts_with_all = ["callers", "callees"]))]
    pub symbol: Option<String>,

    /// Print the source lines of a function, named as for --callers, with their samples.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", conflicts_with_all = ["callers", "callees", "symbol"]))]
    pub lines: Option<String>,

    /// Print one JSON object.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with_all = ["csv", "callers", "callees", "symbol", "lines"]))]
    pub json: bool,

    /// Print comma-separated values.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with_all = ["json", "callers", "callees", "symbol", "lines"]))]
    pub csv: bool,
}

/// When text is colored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Color {
    /// Never.
    #[default]
    Never,
    /// Always.
    Always,
}

/// A compact report with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Markdown {
    /// Print at most N entries of each list [default: 10].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = number_in::<u32>(1, i32::MAX as u32)))]
    pub limit: Option<u32>,
}

/// Number of entries of a list of text by default.
const MAX_ENTRIES: usize = 1000;

/// Values of the options of a report.
struct Settings {
    keys: Vec<ReportKey>,
    by_total: bool,
    percent_limit: f64,
    limit: usize,
    /// Whether the limit is the default.
    has_default_limit: bool,
}

impl Settings {
    fn new(report: &Report) -> Self {
        let Contents { no_children, percent_limit, limit, json, csv, .. } = report.contents;
        Self {
            keys: if report.group_by.is_empty() { ReportKey::DEFAULT.to_owned() } else { report.group_by.clone() },
            by_total: !no_children,
            percent_limit: percent_limit.unwrap_or(0.0),
            limit: limit.map_or(if json || csv { usize::MAX } else { MAX_ENTRIES }, |limit| limit as usize),
            has_default_limit: limit.is_none(),
        }
    }

    /// The lists of a report: one of each event, or one of all if it is a key.
    fn lists(&self, profile: &Profile, locations: &Locations) -> impl ExactSizeIterator<Item = Top> {
        let events: Vec<_> = match self.keys.contains(&ReportKey::Event) {
            true => vec![None],
            false => profile.has_samples.iter().copied().map(Some).collect(),
        };
        let list = |event| Top::new(profile, locations, event, &self.keys, self.by_total);
        events.into_iter().map(list)
    }

    /// The entries that the limits permit.
    fn entries<'a>(&self, top: &'a Top) -> impl Iterator<Item = &'a ReportEntry> + use<'a> {
        let Self { by_total, percent_limit, limit, .. } = *self;
        let share = move |entry: &ReportEntry| {
            let counts = if by_total { entry.usage.total } else { entry.usage.own };
            counts.percent_of(top.event_total(entry))
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

impl OutputFormat for Report {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Report {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn required_labels(&self) -> &'static [Label] {
        &LABELS
    }

    /// Writes a report; an error if the profile has no function of a requested name.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let settings = Settings::new(self);
        let Contents { callers, callees, symbol, lines, json, csv, .. } = &self.contents;
        // Programs that read them may compare names with those in other files.
        let names = if *json || *csv { FunctionNames::Full } else { profile.tables.function_names };
        let locations = Locations::with_names(&profile.tables, names);
        if *json {
            return json::write(profile, &locations, &settings, out);
        }
        if *csv {
            return csv::write(profile, &locations, &settings, out);
        }
        let page = text::Page::new(profile, &locations, &settings, self.color == Color::Always);
        let text = match lines {
            Some(name) => page.lines(name)?,
            None => match (callers.as_ref().or(symbol.as_ref()), callees.as_ref().or(symbol.as_ref())) {
                (None, None) => page.functions(),
                (callers, callees) => page.neighbors(callers.map(|name| &**name), callees.map(|name| &**name))?,
            },
        };
        out.write_all(text.as_bytes()).map_err(Error::Output)
    }
}

impl OutputFormat for Markdown {
    fn format(&self) -> &'static Format {
        &MARKDOWN
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Markdown {
    fn labels(&self) -> Option<&'static [Label]> {
        Some(&[])
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        markdown::write(profile, self.limit.map(|limit| limit as usize), out)
    }
}
