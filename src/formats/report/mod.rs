//! Reports: the functions with the most samples, callers and callees, trees of calls, source lines, and comparisons of two
//! recordings, as text, CSV, JSON or Markdown.

pub mod annotate;
mod cache_lines;
mod comparison;
mod contents;
mod csv;
mod growth_limits;
mod json;
mod markdown;
pub mod perf;
mod ratio;
mod scheduling;
mod spans;
mod style;
mod syscalls;
mod text;
mod threads;
mod tree;

pub use contents::Contents;
pub use growth_limits::GrowthLimits;

use super::{Format, ShowsFunctions};
use crate::formats::framework::bounded_json as bounded;
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, ProfileFormat};
#[cfg(feature = "cli")]
use crate::option_values::number_in;
use crate::profile::accesses::{AccessField, Accesses};
use crate::profile::labels::Label;
use crate::profile::options::{FunctionNames, Measures};
use crate::profile::time_quantum::TimeQuantum;
use crate::profile::{Profile, Row};
use crate::report::Counts;
use crate::report::cache_lines::CacheLines;
use crate::report::comparison::{ComparedEntry, Comparison};
use crate::report::key::ReportKey;
use crate::report::location::Locations;
use crate::report::ratio::EventRatio;
use crate::report::source_files::SourceFiles;
use crate::report::top::{ReportEntry, Top};
use perf_data::abi::sample::branch::BranchFlags;
use perf_data::abi::sample::data_src::{DataSrc, mem};
use perf_data::error::{Error, Result};
use perf_data::stream::events::EventIndex;
use regex_lite::Regex;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

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

/// A report with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Report {
    /// What samples are grouped by [default: comm,dso,sym].
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_name = "KEYS",
            value_delimiter = ',',
            value_parser = ReportKey::parser(),
            help = ReportKey::GROUP_BY_HELP,
            conflicts_with_all = ["tree", "labels"]
        )
    )]
    pub group_by: Vec<ReportKey>,

    /// Which functions it shows, and how.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub contents: Contents,

    /// When to color the text.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "WHEN", default_value_t))]
    pub color: Color,

    /// Copy of the recorded machine's root directory, in which source files are looked up before their recorded paths.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub source_root: Option<PathBuf>,
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

    /// With an earlier recording, how much may have grown.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub growth: GrowthLimits,
}

/// Number of entries of a list of text by default: about as many lines as terminals keep.
const MAX_ENTRIES: usize = 1000;

/// Share in percent below which calls of a tree are omitted by default.
const TREE_LIMIT: f64 = 0.5;

/// What a comparison groups by: names of threads and of files, which contain versions, often differ between two recordings.
const COMPARED_KEYS: &[ReportKey] = &[ReportKey::Sym];

/// Values of the options of a report.
struct Settings {
    keys: Vec<ReportKey>,
    by_total: bool,
    percent_limit: f64,
    limit: usize,
    /// Whether the limit is the default.
    has_default_limit: bool,
    /// Whether entries are only those of samples, not of what led to them.
    own_only: bool,
    /// Whether only events with memory accesses are listed, if there are any.
    mem: bool,
    /// What names of listed functions match, with the column that has them.
    search: Option<(usize, Regex)>,
}

impl Settings {
    /// # Errors
    /// If what is searched is no regular expression, or entries are no functions.
    fn new(report: &Report, is_comparison: bool) -> Result<Self> {
        let Contents { no_children, percent_limit, limit, json, csv, tree, .. } = report.contents;
        let has_all = (json || csv) && tree.is_none();
        let keys = report.keys(is_comparison).to_owned();
        let column = keys.iter().position(|key| *key == ReportKey::Sym);
        let regex = |text: &String| {
            Regex::new(text).map_err(|error| Error::invalid(format!("'{text}' is no regular expression: {error}")))
        };
        let search = match (report.contents.search.as_ref().map(regex).transpose()?, column) {
            (Some(_), None) => {
                return Err(Error::invalid("functions are searched in reports by sym only; add it to --sort"));
            }
            (search, column) => column.zip(search),
        };
        Ok(Self {
            keys,
            by_total: !no_children && !report.counts_leaves(),
            percent_limit: percent_limit.unwrap_or(if tree.is_some() { TREE_LIMIT } else { 0.0 }),
            limit: limit.map_or(if has_all { usize::MAX } else { MAX_ENTRIES }, |limit| limit as usize),
            own_only: report.counts_leaves(),
            mem: report.contents.mem,
            has_default_limit: limit.is_none(),
            search,
        })
    }

    /// Whether a row is one of those that are searched.
    fn is_searched(&self, cells: &[Arc<str>]) -> bool {
        self.search.as_ref().is_none_or(|(column, regex)| regex.is_match(&cells[*column]))
    }

    /// The lists of a report: one of each event, or one of all if it is a key.
    fn lists(&self, profile: &Profile, locations: &Locations) -> impl ExactSizeIterator<Item = Top> {
        let events: Vec<_> = match self.keys.contains(&ReportKey::Event) {
            true => vec![None],
            false => self.events(profile).into_iter().map(Some).collect(),
        };
        let list = |event| Top::new(profile, locations, event, &self.keys, self.by_total);
        events.into_iter().map(list)
    }

    /// The events whose lists are written.
    fn events(&self, profile: &Profile) -> BTreeSet<EventIndex> {
        let source = |row: &&Row| profile.tables.labels.access(row.labels, AccessField::Source);
        let is_access =
            |row: &&Row| source(row).is_some_and(|source| DataSrc(source).get(DataSrc::MEM_OP) & !mem::NA != 0);
        let accessing: BTreeSet<_> = if self.mem {
            profile.rows.iter().filter(is_access).map(|row| row.event).collect()
        } else {
            BTreeSet::new()
        };
        if accessing.is_empty() { profile.has_samples.clone() } else { accessing }
    }

    /// The entries that the limits permit.
    fn entries<'a>(&'a self, top: &'a Top) -> impl Iterator<Item = &'a ReportEntry> {
        let Self { by_total, percent_limit, limit, .. } = *self;
        let share = move |entry: &ReportEntry| {
            let counts = if by_total { entry.usage.total } else { entry.usage.own };
            counts.percent_of(top.event_total(entry))
        };
        let is_own = move |entry: &ReportEntry| !self.own_only || entry.usage.own.samples > 0;
        let listed = move |entry: &&ReportEntry| {
            share(entry) >= percent_limit && is_own(entry) && self.is_searched(&entry.cells)
        };
        top.entries.iter().filter(listed).take(limit)
    }
}

impl Settings {
    /// How a profile differs from an earlier one.
    fn comparisons(&self, base: &Profile, profile: &Profile, names: FunctionNames) -> Result<Vec<Comparison>> {
        Comparison::list([base, profile], &self.keys, self.by_total, names)
    }

    /// The compared entries that the limits permit.
    fn compared<'a>(&'a self, comparison: &'a Comparison) -> impl Iterator<Item = &'a ComparedEntry> {
        let percent_limit = self.percent_limit;
        let is_large = move |entry: &&ComparedEntry| entry.shares.iter().any(|share| *share >= percent_limit);
        comparison.entries.iter().filter(is_large).filter(|entry| self.is_searched(&entry.cells)).take(self.limit)
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

impl Report {
    /// What samples are grouped by.
    fn keys(&self, is_comparison: bool) -> &[ReportKey] {
        let default = match (self.contents.mem, is_comparison) {
            _ if self.contents.branch_stack => ReportKey::BRANCHES,
            (true, _) => ReportKey::MEMORY,
            (false, true) => COMPARED_KEYS,
            (false, false) => ReportKey::DEFAULT,
        };
        if self.group_by.is_empty() { default } else { &self.group_by }
    }

    /// Whether branches are counted instead of samples.
    fn counts_branches(&self) -> bool {
        self.contents.branch_stack || self.keys(false).iter().any(|key| key.requires_branches())
    }

    /// Whether only the innermost frames of stacks have entries.
    fn counts_leaves(&self) -> bool {
        self.contents.mem || self.counts_branches()
    }
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

    fn required_labels(&self) -> Vec<Label> {
        if self.contents.c2c {
            return CacheLines::LABELS.to_vec();
        }
        self.keys(false).iter().flat_map(|key| key.labels()).copied().collect()
    }

    fn branches(&self) -> Option<BranchFlags> {
        let fields = self.keys(false).iter().flat_map(|key| key.branch_flags());
        self.counts_branches().then(|| BranchFlags(fields.fold(0, |flags, field| field.set(flags, u64::MAX))))
    }

    fn accesses(&self) -> Accesses {
        if self.contents.c2c {
            return Accesses::with_fields(CacheLines::FIELDS.iter().copied(), true);
        }
        let keys = self.keys(false).iter().chain(&self.group_by);
        Accesses::with_fields(keys.flat_map(|key| key.access_fields()).copied(), self.contents.mem)
    }

    fn time_quantum(&self) -> TimeQuantum {
        self.contents.time_quantum.unwrap_or_default()
    }

    fn measures(&self) -> Measures {
        match &self.contents {
            Contents { sched: true, .. } => Measures::Scheduling,
            Contents { syscalls: true, .. } => Measures::Syscalls,
            _ => Measures::Samples,
        }
    }

    fn shows_lengths(&self) -> bool {
        self.contents.shows_functions()
    }

    /// Writes a report; an error if the profile has no function of a requested name.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let Contents { json, max_bytes, offset, .. } = &self.contents;
        if !json || (max_bytes.is_none() && offset.is_none()) {
            return self.write_all(profile, out);
        }
        let mut text = Vec::new();
        self.write_all(profile, &mut text)?;
        let report = serde_json::from_slice(&text).map_err(|error| Error::Output(error.into()))?;
        bounded::write(report, *offset, *max_bytes, out)
    }

    fn exceeded(&self, profile: &Profile) -> Result<Vec<String>> {
        self.contents.growth.exceeded(profile, &Settings::new(self, true)?)
    }
}

impl Report {
    /// Writes a report of any size.
    fn write_all(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        let base = profile.base.as_deref().filter(|_| self.contents.shows_functions());
        let settings = Settings::new(self, base.is_some())?;
        let Contents { callers, callees, symbol, lines, list, tree, json, csv, ascii, .. } = &self.contents;
        // Programs that read them may compare names with those in other files.
        let names = if *json || *csv { FunctionNames::Full } else { profile.tables.function_names };
        let locations = Locations::with_names(&profile.tables, names);
        let comparisons = base.map(|base| Ok((base, settings.comparisons(base, profile, names)?))).transpose()?;
        let style = style::Style { has_color: self.color == Color::Always };
        if let Some(scheduling) = &profile.tables.scheduling {
            return match (json, csv) {
                (true, _) => scheduling::write_json(profile, scheduling, settings.limit, out),
                (false, true) => scheduling::write_csv(profile, scheduling, settings.limit, out),
                (false, false) => {
                    let text = scheduling::text(profile, scheduling, &locations, settings.limit, style);
                    out.write_all(text.as_bytes()).map_err(Error::Output)
                }
            };
        }
        if let Some(calls) = &profile.tables.syscalls {
            return match (json, csv) {
                (true, _) => syscalls::write_json(profile, calls, settings.limit, out),
                (false, true) => syscalls::write_csv(profile, calls, settings.limit, out),
                (false, false) => {
                    let text = syscalls::text(profile, calls, settings.limit, style);
                    out.write_all(text.as_bytes()).map_err(Error::Output)
                }
            };
        }
        if self.contents.c2c {
            let lines = CacheLines::new(profile, &locations);
            return match (json, csv) {
                (true, _) => cache_lines::write_json(profile, &lines, &locations, settings.limit, out),
                (false, true) => cache_lines::write_csv(profile, &lines, &locations, settings.limit, out),
                (false, false) => {
                    let text = cache_lines::text(profile, &lines, &locations, settings.limit, style);
                    out.write_all(text.as_bytes()).map_err(Error::Output)
                }
            };
        }
        let Contents { ratio, ratio_title, by_ratio, .. } = &self.contents;
        let ratio = ratio.as_ref().map(|ratio| EventRatio::new(ratio, ratio_title.as_deref(), profile)).transpose()?;
        match (&ratio, json, csv) {
            (Some(ratio), true, _) => {
                return ratio::write_json(profile, &locations, &settings, (ratio, *by_ratio), out);
            }
            (Some(ratio), false, true) => {
                return ratio::write_csv(profile, &locations, &settings, (ratio, *by_ratio), out);
            }
            _ => {}
        }
        match (&comparisons, tree) {
            (Some((base, comparisons)), _) if *json => {
                return json::write_comparisons([base, profile], comparisons, &settings, out);
            }
            (Some((_, comparisons)), _) if *csv => return csv::write_comparisons(profile, comparisons, &settings, out),
            (None, Some(direction)) if *json => {
                return json::write_trees(profile, &locations, &settings, *direction, out);
            }
            (None, None) if *json => return self.write_json(profile, &locations, &settings, out),
            (None, None) if *csv => return csv::write(profile, &locations, &settings, out),
            _ => {}
        }
        let page = text::Page::new(profile, &locations, &settings, self.color == Color::Always);
        if let Some(ratio) = &ratio {
            let text = ratio::text(&page, ratio, *by_ratio);
            return out.write_all(text.as_bytes()).map_err(Error::Output);
        }
        let files = self.source_files();
        let [callers, callees] = [callers, callees].map(|name| name.as_ref().or(symbol.as_ref()));
        let text = match (&comparisons, tree, lines, list) {
            (Some((base, comparisons)), ..) => page.comparisons(base, comparisons),
            (None, Some(direction), ..) => page.trees(*direction, *ascii),
            (None, None, Some(name), _) => page.lines(name, false, files)?,
            (None, None, None, Some(name)) => page.lines(name, true, files)?,
            (None, None, None, None) if callers.is_none() && callees.is_none() => page.functions(),
            (None, None, None, None) => page.neighbors(callers.map(|name| &**name), callees.map(|name| &**name))?,
        };
        out.write_all(text.as_bytes()).map_err(Error::Output)
    }

    fn source_files(&self) -> SourceFiles<'_> {
        let Contents { no_source, source_dir, .. } = &self.contents;
        if *no_source { SourceFiles::none() } else { SourceFiles::new(self.source_root.as_deref(), source_dir) }
    }

    /// Writes functions, their callers and callees, or their lines.
    fn write_json(
        &self,
        profile: &Profile,
        locations: &Locations,
        settings: &Settings,
        out: &mut dyn Write,
    ) -> Result<()> {
        let Contents { callers, callees, symbol, lines, list, .. } = &self.contents;
        if let Some(name) = lines.as_ref().or(list.as_ref()) {
            let files = self.source_files();
            return json::write_lines(profile, locations, settings, (name, list.is_some()), files, out);
        }
        match [callers, callees].map(|name| name.as_ref().or(symbol.as_ref()).map(String::as_str)) {
            [None, None] => json::write(profile, locations, settings, out),
            names => json::write_neighbors(profile, locations, settings, names, out),
        }
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

    fn exceeded(&self, profile: &Profile) -> Result<Vec<String>> {
        self.growth.exceeded(profile, &Settings::new(&Report::default(), true)?)
    }
}
