//! Reports as text.

use super::style::{Style, event_line, line};
use super::{Settings, rows, spans, total};
use crate::profile::Profile;
use crate::report::Counts;
use crate::report::location::{LocationSelection, Locations};
use crate::report::neighbors::{Neighbor, Neighbors};
use crate::report::source_files::SourceFiles;
use crate::report::source_lines::SourceLines;
use crate::report::top::{ReportEntry, Top};
use perf_data::error::Result;
use perf_data::printable;
use perf_data::session::names::NameId;
use perf_data::stream::events::EventIndex;
use std::borrow::Cow;
use std::sync::Arc;

/// Number of lines around those with samples.
const CONTEXT: i64 = 2;

/// Widest column of names that others are aligned to.
const MAX_WIDTH: usize = 40;

/// Number of events whose texts are printed: a list of thousands of tracepoints is not read.
const MAX_EVENTS: usize = 100;

/// A report as text.
pub(super) struct Page<'a> {
    pub profile: &'a Profile,
    pub locations: &'a Locations,
    pub settings: &'a Settings,
    pub style: Style,
}

impl<'a> Page<'a> {
    /// A report on a profile.
    pub(super) fn new(profile: &'a Profile, locations: &'a Locations, settings: &'a Settings, has_color: bool) -> Self {
        Self { profile, locations, settings, style: Style { has_color } }
    }

    /// The functions, or other groups, with the most samples.
    pub(super) fn functions(&self) -> String {
        let list = |top: Top| {
            let mut totals: Vec<_> = top.totals.iter().map(|(&event, &all)| (event, all)).collect();
            totals.sort_unstable_by_key(|(event, _)| *event);
            let headings = totals.into_iter().map(|(event, all)| self.heading(event, all));
            let mut text = join_events(headings, "");
            self.list(&top, &mut text);
            if let Some(lengths) = &top.lengths {
                text += "\n";
                text += &spans::histogram(lengths);
            }
            text
        };
        join_events(self.settings.lists(self.profile, self.locations).map(list), "\n")
    }

    /// Line with the name and the counts of an event.
    pub(super) fn heading(&self, event: EventIndex, all: Counts) -> String {
        self.style.heading(&event_line(&self.profile.tables, event, all)) + "\n"
    }

    fn list(&self, top: &Top, text: &mut String) {
        let entries: Vec<_> = self.settings.entries(top).collect();
        let (keys, names) = self.columns(entries.iter().map(|entry| &*entry.cells));
        let columns = if top.lengths.is_some() { format!("{}  ", spans::COLUMNS) } else { String::new() };
        line!(text, "  total     self   samples  {columns}{keys}");
        for (entry, names) in entries.iter().zip(names) {
            let lengths = entry.lengths.as_ref().map_or_else(String::new, |lengths| spans::columns(lengths) + "  ");
            let (ReportEntry { usage, .. }, all) = (entry, top.event_total(entry));
            let (total, own) =
                (self.style.percent(usage.total.percent_of(all)), self.style.percent(usage.own.percent_of(all)));
            let samples = if self.settings.by_total { usage.total.samples } else { usage.own.samples };
            line!(text, "{total}  {own}  {samples:>8}  {lengths}{names}");
        }
        self.omitted(top.entries.len(), entries.len(), text);
    }

    /// The keys, and the cells of entries below them in aligned columns.
    pub(super) fn columns<'b>(&self, entries: impl Iterator<Item = &'b [Arc<str>]>) -> (String, Vec<String>) {
        let keys: Vec<_> = self.settings.keys.iter().map(|key| Cow::Borrowed(key.name())).collect();
        let names: Vec<Vec<_>> =
            entries.map(|cells| cells.iter().map(|cell| printable::name(cell)).collect()).collect();
        let width = |(column, key): (usize, &Cow<'_, str>)| {
            let widths = names.iter().map(|cells| cells[column].chars().count());
            widths.max().unwrap_or(0).min(MAX_WIDTH).max(key.len())
        };
        let widths: Vec<_> = keys.iter().enumerate().map(width).collect();
        let joined = |cells: &Vec<Cow<'_, str>>| {
            let padded = cells.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}"));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        (joined(&keys), names.iter().map(joined).collect())
    }

    /// Line with the number of entries that are not printed, if any.
    pub(super) fn omitted(&self, all: usize, printed: usize, text: &mut String) {
        let entries = match all - printed {
            0 => return,
            1 => "1 more entry".to_owned(),
            omitted => format!("{omitted} more entries"),
        };
        if self.settings.search.is_some() {
            line!(text, "{entries} that do not match, or are below the limit");
            return;
        }
        let is_by_default = self.settings.has_default_limit && printed == self.settings.limit;
        line!(text, "{entries} below the limit{}", if is_by_default { "; choose another with --limit" } else { "" });
    }

    /// The callers or callees, or both, of functions.
    ///
    /// # Errors
    /// If there is no such function.
    pub(super) fn neighbors(&self, callers: Option<&str>, callees: Option<&str>) -> Result<String> {
        let select = |text: Option<&str>| text.map(|text| self.locations.select(text)).transpose();
        let (callers, callees) = (select(callers)?, select(callees)?);
        let mut sections = Vec::new();
        for &event in &self.profile.has_samples {
            let all = total(self.profile, event);
            let section = |selection: &LocationSelection, relation: &str, list: fn(&Neighbors) -> &[Neighbor]| {
                let LocationSelection { title, is_selected } = selection;
                let neighbors = Neighbors::new(self.profile, self.locations, rows(self.profile, event), is_selected);
                if neighbors.total == Counts::default() {
                    return None;
                }
                let (total, own) = (neighbors.total.percent_of(all), neighbors.own.percent_of(all));
                let mut text = self.heading(event, all);
                line!(text, "{relation} of {title}: total {total:.2}%, self {own:.2}%");
                line!(text, "  share   samples  function");
                let list = list(&neighbors);
                let printed = &list[..list.len().min(self.settings.limit)];
                printed.iter().for_each(|neighbor| self.neighbor(neighbor, all, &mut text));
                self.omitted(list.len(), printed.len(), &mut text);
                Some(text)
            };
            let caller_section =
                callers.as_ref().and_then(|functions| section(functions, "callers", |neighbors| &neighbors.callers));
            let callee_section =
                callees.as_ref().and_then(|functions| section(functions, "callees", |neighbors| &neighbors.callees));
            let event_sections: Vec<_> = caller_section.into_iter().chain(callee_section).collect();
            if !event_sections.is_empty() {
                sections.push(event_sections.join("\n"));
            }
        }
        Ok(join_events(sections.into_iter(), "\n"))
    }

    fn neighbor(&self, neighbor: &Neighbor, all: Counts, text: &mut String) {
        let Neighbor { function, dso, source, counts } = neighbor;
        let percent = self.style.percent(counts.percent_of(all));
        let name = match function {
            Some(function) => format!("{} ({})", printable::name(function), printable::name(dso)),
            None if source.is_empty() => "-".to_owned(),
            None => "(itself)".to_owned(),
        };
        let at = if source.is_empty() { String::new() } else { format!(" at {}", printable::name(source)) };
        line!(text, "{percent}  {:>8}  {name}{at}", counts.samples);
    }

    /// The source lines of functions: of all that a text selects together, or of each by itself, those with the most samples first.
    ///
    /// # Errors
    /// If there is no such function.
    pub(super) fn lines(&self, name: &str, is_each: bool, mut files: SourceFiles<'_>) -> Result<String> {
        let LocationSelection { title, is_selected } = self.locations.select(name)?;
        let groups = self.locations.groups(&is_selected, is_each);
        let mut sections = Vec::new();
        for &event in &self.profile.has_samples {
            let all = total(self.profile, event);
            let mut lists = SourceLines::new(self.profile, self.locations, rows(self.profile, event), &groups);
            let count = lists.len();
            if is_each {
                lists.retain(|lines| lines.total.percent_of(all) >= self.settings.percent_limit);
                lists.truncate(self.settings.limit);
            }
            let section = |lines: &SourceLines| {
                let function = is_each.then(|| self.locations.text(NameId(lines.group)));
                let title = function.as_deref().map_or(Cow::Borrowed(&*title), printable::name);
                self.heading(event, all) + &self.source(lines, &title, all, &mut files)
            };
            let event_sections: Vec<_> = lists.iter().map(section).collect();
            let mut text = event_sections.join("\n");
            self.omitted(count, lists.len(), &mut text);
            if !text.is_empty() {
                sections.push(text);
            }
        }
        Ok(join_events(sections.into_iter(), "\n"))
    }

    fn source(&self, lines: &SourceLines, title: &str, all: Counts, files: &mut SourceFiles<'_>) -> String {
        let mut text = String::new();
        let share = lines.total.percent_of(all);
        let source = lines.text(CONTEXT, files);
        let note = match (&source, lines.file.is_empty()) {
            (_, true) => "; its lines are unknown",
            (None, _) => "; its source file was not found, so only line numbers are shown",
            _ => "",
        };
        let file = if lines.file.is_empty() { String::new() } else { format!(" in {}", printable::name(&lines.file)) };
        line!(text, "{title}{file}: {share:.2}%{note}");
        line!(text, "  total     self   line");
        let counts = |line: i64| lines.counts.get(&line).map(|usage| (usage.total, usage.own));
        let numbered = source.unwrap_or_else(|| lines.counts.keys().map(|&line| (line, String::new())).collect());
        for (number, source) in numbered {
            let source = printable::name(&source.replace('\t', "    ")).into_owned();
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
        text
    }
}

/// The texts of at most [`MAX_EVENTS`] events with a separator between them, and the number of others.
pub(super) fn join_events(texts: impl ExactSizeIterator<Item = String>, separator: &str) -> String {
    let omitted = texts.len().saturating_sub(MAX_EVENTS);
    let mut texts: Vec<_> = texts.take(MAX_EVENTS).collect();
    if omitted > 0 {
        texts.push(format!("{omitted} more events; choose with --event\n"));
    }
    texts.join(separator)
}
