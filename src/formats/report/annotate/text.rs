//! Annotated functions as text.

use super::super::style::{Style, event_line, line};
use super::super::{Color, text::join_events};
use super::Annotate;
use super::arrows::arrows;
use crate::profile::Profile;
use crate::profile::options::FunctionNames;
use crate::report::annotation::{
    AnnotatedFunction, AnnotatedInstruction, Annotation, BlockOrder, CodeBlock, InlinedFunction,
};
use crate::report::location::Locations;
use crate::report::source_files::SourceFiles;
use crate::report::{Counts, Usage};
use perf_data::printable;
use std::collections::BTreeSet;
use std::time::Duration;

/// A listing of functions.
pub(super) struct Listing<'a> {
    pub profile: &'a Profile,
    pub locations: &'a Locations,
    pub options: &'a Annotate,
}

/// Number of functions whose texts are printed: a regular expression can match all.
const MAX_FUNCTIONS: usize = 20;

/// Number of source files of a function whose paths are printed.
const MAX_SOURCES: usize = 5;

/// By how much copies of a source file and of its program may differ in time: copies are often as old as the copying.
const TOLERANCE: Duration = Duration::from_secs(60);

/// Width of the columns of an event.
const COLUMNS: usize = 16;

impl Listing<'_> {
    /// The listing.
    pub(super) fn text(&self, annotation: &Annotation, files: &mut SourceFiles<'_>) -> String {
        let style = Style { has_color: self.options.color == Color::Always };
        let tables = &self.profile.tables;
        let headings =
            annotation.events.iter().map(|&(event, all)| style.heading(&event_line(tables, event, all)) + "\n");
        let mut text = join_events(headings, "");
        let shown = annotation.functions.iter().take(MAX_FUNCTIONS);
        let listings: Vec<_> = shown.map(|function| self.function(function, annotation, style, files)).collect();
        text += &listings.join("\n");
        let omitted = annotation.functions.len() - listings.len();
        if omitted > 0 {
            line!(text, "\n{omitted} more functions; name one");
        }
        text
    }

    fn function(
        &self,
        function: &AnnotatedFunction,
        annotation: &Annotation,
        style: Style,
        files: &mut SourceFiles<'_>,
    ) -> String {
        let mut text = String::new();
        let [name, dso] = [self.locations.function_name(function.name), self.locations.text(function.dso)];
        let shares = function.usage.iter().zip(&annotation.events).map(|(usage, &(event, all))| {
            let (total, own) = (usage.total.percent_of(all), usage.own.percent_of(all));
            let event = match annotation.events.len() {
                1 => String::new(),
                _ => format!(" of {}", printable::name(&self.profile.tables.events[event as usize].name)),
            };
            format!("total {total:.2}%, self {own:.2}%{event}")
        });
        let shares = shares.collect::<Vec<_>>().join("; ");
        let heading = format!("{} ({}): {shares}", printable::name(&name), printable::name(&dso));
        line!(text, "{}", style.heading(&heading));
        if let Some(missing) = &function.missing {
            line!(text, "instructions are unknown: {missing}");
        }
        self.files(function, files, &mut text);
        let columns = "  total     self ".repeat(annotation.events.len());
        line!(text, "{}", format!("{columns} address").trim_end());
        self.blocks(function, style, files, &mut text);
        text
    }

    /// The source files with samples, with what the reader has to know of each.
    fn files(&self, function: &AnnotatedFunction, files: &mut SourceFiles<'_>, text: &mut String) {
        let has_samples = |block: &&CodeBlock| block.usage.iter().any(|usage| usage.total != Counts::default());
        let blocks = function.blocks.iter().filter(has_samples);
        let names: BTreeSet<&str> = blocks.map(|block| &*block.position.file).filter(|name| !name.is_empty()).collect();
        for name in names.iter().take(MAX_SOURCES) {
            let source = files.text(name);
            let modified = source.as_ref().and_then(|source| source.modified).zip(function.modified);
            let note = match (&source, modified) {
                (None, _) if self.options.contents.no_source => "",
                (None, _) => ": not found; use --source-dir DIR",
                (Some(_), Some((source, object))) if source > object + TOLERANCE => {
                    ": newer than the program, so lines may differ"
                }
                _ => "",
            };
            line!(text, "source {}{note}", printable::name(name));
        }
        if names.len() > MAX_SOURCES {
            line!(text, "{} more source files", names.len() - MAX_SOURCES);
        }
    }

    fn blocks(&self, function: &AnnotatedFunction, style: Style, files: &mut SourceFiles<'_>, text: &mut String) {
        let all: Vec<Counts> = function.usage.iter().map(|usage| usage.total).collect();
        let contents = &self.options.contents;
        let near = contents.context.map(|context| function.near_samples(context as usize));
        let is_listed = |index: &&usize| near.as_ref().is_none_or(|near| near[**index]);
        let arrows = match contents.sort {
            BlockOrder::Address => arrows(&function.instructions, self.options.ascii),
            BlockOrder::Samples => vec![String::new(); function.instructions.len()],
        };
        let last = function.instructions.last().map_or(0, |instruction| instruction.address);
        let width = format!("{last:x}").len().max(6);
        let mut omitted = 0;
        for block in &function.blocks {
            let listed: Vec<usize> = block.instructions.iter().filter(is_listed).copied().collect();
            omitted += block.instructions.len() - listed.len();
            if listed.is_empty() {
                continue;
            }
            self.source(block, &all, style, files, text);
            for index in listed {
                let instruction = &function.instructions[index];
                let columns = columns(&instruction.usage, &all, style);
                let address = format!("{:>width$x}", instruction.address);
                let instruction = format!("{columns}  {address}  {}{}", arrows[index], instruction_text(instruction));
                line!(text, "{}", instruction.trim_end());
            }
        }
        if omitted > 0 {
            let instructions = if omitted == 1 { "instruction" } else { "instructions" };
            line!(text, "{omitted} more {instructions}; choose others with --context");
        }
    }

    /// The source line of a block.
    fn source<'b>(
        &self,
        block: &'b CodeBlock,
        all: &[Counts],
        style: Style,
        files: &mut SourceFiles<'_>,
        text: &mut String,
    ) {
        let position = &block.position;
        let name = position.file.rsplit('/').next().unwrap_or_default();
        let place = match (name, position.line) {
            ("", _) => "unknown line".to_owned(),
            (name, 0) => format!("{}:?", printable::name(name)),
            (name, line) => format!("{}:{line}", printable::name(name)),
        };
        let source = files.text(&position.file);
        let source = source.as_ref().and_then(|source| source.line(position.line)).unwrap_or_default();
        let source = printable::name(&source.replace('\t', "    ")).into_owned();
        let has_short_names = self.profile.tables.function_names == FunctionNames::Short;
        let name = |function: &'b InlinedFunction| match has_short_names {
            true => printable::name(&function.short),
            false => printable::name(&function.name),
        };
        let inlined: Vec<_> = position.inlined.iter().map(name).collect();
        let arrow = if self.options.ascii { " <- " } else { " ← " };
        let inlined = if inlined.is_empty() { String::new() } else { format!("  (inlined {})", inlined.join(arrow)) };
        let columns = columns(&block.usage, all, style);
        line!(text, "{}", format!("{columns}  {}  {source}{inlined}", style.heading(&place)).trim_end());
    }
}

/// Shares of the samples of the function, by event.
fn columns(usage: &[Usage], all: &[Counts], style: Style) -> String {
    let column = |(usage, &all): (&Usage, &Counts)| match usage.total == Counts::default() {
        true => " ".repeat(COLUMNS),
        false => {
            let [total, own] = [usage.total, usage.own].map(|counts| style.percent(counts.percent_of(all)));
            format!("{total}  {own}")
        }
    };
    usage.iter().zip(all).map(column).collect::<Vec<_>>().join(" ")
}

fn instruction_text(instruction: &AnnotatedInstruction) -> String {
    let text = printable::name(instruction.text.as_deref().unwrap_or_default());
    let inner = if instruction.has_inner_samples { "  (samples inside of the instruction)" } else { "" };
    format!("{text}{inner}")
}
