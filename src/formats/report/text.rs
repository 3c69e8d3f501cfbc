//! Reports as text.

use super::style::{Style, event_line, safe};
use super::{Settings, rows, total};
use crate::error::{Error, Result};
use crate::profile::Profile;
use crate::report::Counts;
use crate::report::location::Locations;
use crate::report::neighbors::{Neighbor, Neighbors};
use crate::report::source_lines::SourceLines;
use crate::report::top::{Entry, Top};
use std::fmt::Write;

/// Number of lines around those with samples.
const CONTEXT: i64 = 2;

/// Widest column of names that others are aligned to.
const MAX_WIDTH: usize = 40;

/// A report as text.
pub struct Page<'a> {
    profile: &'a Profile,
    locations: &'a Locations,
    settings: &'a Settings,
    style: Style,
}

/// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{
        let _ = writeln!($text, $($arg)*);
    }};
}

impl<'a> Page<'a> {
    /// A report on a profile.
    pub fn new(profile: &'a Profile, locations: &'a Locations, settings: &'a Settings, has_color: bool) -> Self {
        Self { profile, locations, settings, style: Style { has_color } }
    }

    /// The functions, or other groups, with the most samples.
    pub fn functions(&self) -> String {
        let mut text = String::new();
        for (event, top) in self.settings.lists(self.profile, self.locations) {
            if !text.is_empty() {
                text.push('\n');
            }
            let mut events: Vec<_> = event.map_or_else(|| top.totals.keys().copied().collect(), |event| vec![event]);
            events.sort_unstable();
            for event in events {
                let all = top.totals.get(&event).copied().unwrap_or_default();
                line!(text, "{}", self.style.heading(&event_line(&self.profile.tables, event, all)));
            }
            self.list(&top, &mut text);
        }
        text
    }

    fn list(&self, top: &Top, text: &mut String) {
        let entries: Vec<_> = self.settings.entries(top).collect();
        let names: Vec<Vec<String>> =
            entries.iter().map(|entry| entry.cells.iter().map(|cell| safe(cell)).collect()).collect();
        let width = |column: usize, key: &str| {
            let widths = names.iter().map(|cells| cells[column].chars().count());
            widths.max().unwrap_or(0).min(MAX_WIDTH).max(key.len())
        };
        let keys: Vec<_> = self.settings.keys.iter().map(|key| key.name()).collect();
        let widths: Vec<_> = keys.iter().enumerate().map(|(column, key)| width(column, key)).collect();
        let joined = |cells: &mut dyn Iterator<Item = &str>| {
            let padded = cells.zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        line!(text, "  total     self   samples  {}", joined(&mut keys.iter().copied()));
        for (Entry { usage, .. }, (cells, entry)) in entries.iter().zip(names.iter().zip(&entries)) {
            let all = top.all_of(entry);
            let (total, own) =
                (self.style.percent(usage.total.percent_of(all)), self.style.percent(usage.own.percent_of(all)));
            let samples = if self.settings.by_total { usage.total.samples } else { usage.own.samples };
            line!(text, "{total}  {own}  {samples:>8}  {}", joined(&mut cells.iter().map(String::as_str)));
        }
        match top.entries.len() - entries.len() {
            0 => {}
            omitted => line!(text, "{omitted} more {} below the limit", if omitted == 1 { "entry" } else { "entries" }),
        }
    }

    /// The callers or callees, or both, of functions by their names.
    ///
    /// # Errors
    /// If there is no such function.
    pub fn neighbors(&self, callers: Option<&str>, callees: Option<&str>) -> Result<String> {
        let mut text = String::new();
        for &event in &self.profile.has_samples {
            let all = total(self.profile, event);
            let of = |name: &str| Neighbors::new(self.profile, self.locations, rows(self.profile, event), name);
            let mut section = |name: &str, what: &str, list: fn(&Neighbors) -> &[Neighbor]| {
                let neighbors = of(name);
                if neighbors.total == Counts::default() {
                    return;
                }
                if !text.is_empty() {
                    text.push('\n');
                }
                line!(text, "{}", self.style.heading(&event_line(&self.profile.tables, event, all)));
                let (total, own) = (neighbors.total.percent_of(all), neighbors.own.percent_of(all));
                line!(text, "{} of {}: total {total:.2}%, self {own:.2}%", what, safe(name));
                line!(text, "  share   samples  function");
                for neighbor in list(&neighbors).iter().take(self.settings.limit) {
                    self.neighbor(neighbor, all, &mut text);
                }
            };
            if let Some(name) = callers {
                section(name, "callers", |neighbors| &neighbors.callers);
            }
            if let Some(name) = callees {
                section(name, "callees", |neighbors| &neighbors.callees);
            }
        }
        if text.is_empty() { Err(no_function(callers.or(callees).unwrap_or_default())) } else { Ok(text) }
    }

    fn neighbor(&self, neighbor: &Neighbor, all: Counts, text: &mut String) {
        let Neighbor { function, dso, source, counts } = neighbor;
        let percent = self.style.percent(counts.percent_of(all));
        let name = match function {
            Some(function) => format!("{} ({})", safe(function), safe(dso)),
            None if source.is_empty() => "-".to_owned(),
            None => "(itself)".to_owned(),
        };
        let at = if source.is_empty() { String::new() } else { format!(" at {}", safe(source)) };
        line!(text, "{percent}  {:>8}  {name}{at}", counts.samples);
    }

    /// The source lines of a function.
    ///
    /// # Errors
    /// If there is no such function.
    pub fn lines(&self, name: &str) -> Result<String> {
        let mut text = String::new();
        for &event in &self.profile.has_samples {
            let all = total(self.profile, event);
            for lines in SourceLines::new(self.profile, self.locations, rows(self.profile, event), name) {
                if !text.is_empty() {
                    text.push('\n');
                }
                line!(text, "{}", self.style.heading(&event_line(&self.profile.tables, event, all)));
                self.source(&lines, name, all, &mut text);
            }
        }
        if text.is_empty() { Err(no_function(name)) } else { Ok(text) }
    }

    fn source(&self, lines: &SourceLines, name: &str, all: Counts, text: &mut String) {
        let share = lines.total.percent_of(all);
        let source = lines.text(CONTEXT);
        let note = match (&source, lines.file.is_empty()) {
            (_, true) => ": its lines are unknown",
            (None, _) => ": the file is not here",
            _ => "",
        };
        let file = if lines.file.is_empty() { String::new() } else { format!(" in {}", safe(&lines.file)) };
        line!(text, "{}{file}: {share:.2}%{note}", safe(name));
        line!(text, "  total     self   line");
        let counts = |line: i64| lines.counts.get(&line).map(|usage| (usage.total, usage.own));
        let numbered = source.unwrap_or_else(|| lines.counts.keys().map(|&line| (line, String::new())).collect());
        for (number, source) in numbered {
            let source = safe(&source.replace('\t', "    "));
            let columns = match counts(number) {
                Some((total, own)) => {
                    let [total, own] = [total, own].map(|counts| self.style.percent(counts.percent_of(all)));
                    format!("{total}  {own}")
                }
                None => " ".repeat(16),
            };
            let number = if number == 0 { "?".to_owned() } else { number.to_string() };
            line!(text, "{}", format!("{columns}  {number:>5}  {source}").trim_end());
        }
    }
}

fn no_function(name: &str) -> Error {
    Error::invalid(format!("no sample has a function '{}'; names are those that the report lists", safe(name)))
}
