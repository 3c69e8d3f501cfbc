//! Annotated functions as text.

use super::super::style::{Style, event_line, line};
use super::super::{Color, text::join_events};
use super::Annotate;
use super::arrows::arrows;
use crate::profile::Profile;
use crate::profile::options::FunctionNames;
use crate::report::annotation::flow::{BasicBlock, CountedLoop, FunctionFlow};
use crate::report::annotation::{
    AnnotatedFunction, AnnotatedInstruction, Annotation, BlockOrder, CodeBlock, CodePosition, InlinedFunction,
};
use crate::report::location::Locations;
use crate::report::source_files::SourceFiles;
use crate::report::{Counts, Usage};
use perf_data::printable;
use std::ops::RangeInclusive;

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

/// Number of basic blocks and of loops that are printed.
const MAX_BLOCKS: usize = 10;

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
        if let Some(flow) = &function.flow {
            flow_tables(function, flow, style, &mut text);
        }
        text
    }

    /// The source files with samples, with what the reader has to know of each.
    fn files(&self, function: &AnnotatedFunction, files: &mut SourceFiles<'_>, text: &mut String) {
        let names = function.sampled_files();
        for name in names.iter().take(MAX_SOURCES) {
            let note = match files.text(name) {
                None if self.options.contents.no_source => "",
                None => ": not found; use --source-dir DIR",
                Some(_) if files.is_newer(name, function.modified) => ": newer than the program, so lines may differ",
                Some(_) => "",
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
        let title = line_name(position);
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
        line!(text, "{}", format!("{columns}  {}  {source}{inlined}", style.heading(&title)).trim_end());
    }
}

/// The basic blocks and loops that branch stacks count.
fn flow_tables(function: &AnnotatedFunction, flow: &FunctionFlow, style: Style, text: &mut String) {
    let name = |range: &RangeInclusive<usize>| {
        let [first, last] = [range.start(), range.end()].map(|&index| &function.instructions[index]);
        let lines = [first, last].map(|instruction| line_name(&instruction.position));
        let lines = if lines[0] == lines[1] { lines[0].clone() } else { lines.join(" to ") };
        format!("{:x}-{:x}  {lines}", first.address, last.address)
    };
    let decimal = |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.2}"));
    line!(text, "{}", style.heading("basic blocks in branch stacks, those with the most executed instructions first"));
    line!(text, "       times    cycles     ipc  instructions  block");
    for block in flow.blocks.iter().take(MAX_BLOCKS) {
        let BasicBlock { instructions, times, cycles, .. } = block;
        let (cycles, ipc) = (decimal(*cycles), decimal(block.ipc()));
        line!(text, "{times:>12}  {cycles:>8}  {ipc:>6}  {:>12}  {}", block.len(), name(instructions));
    }
    let omitted = flow.blocks.len().saturating_sub(MAX_BLOCKS);
    if omitted > 0 {
        line!(text, "{omitted} more; --json has all");
    }
    if flow.loops.is_empty() {
        return;
    }
    line!(text, "{}", style.heading("loops in branch stacks, those with the most cycles or instructions first"));
    line!(text, "  iterations    cycles  mispredicted  loop");
    for counted in flow.loops.iter().take(MAX_BLOCKS) {
        let CountedLoop { instructions, iterations, mispredicted, cycles, .. } = counted;
        let share = *mispredicted as f64 * 100.0 / (*iterations).max(1) as f64;
        line!(text, "{iterations:>12}  {:>8}  {share:>11.2}%  {}", decimal(*cycles), name(instructions));
    }
    let omitted = flow.loops.len().saturating_sub(MAX_BLOCKS);
    if omitted > 0 {
        line!(text, "{omitted} more; --json has all");
    }
}

/// File and line of a position.
fn line_name(position: &CodePosition) -> String {
    let name = position.file.rsplit('/').next().unwrap_or_default();
    match (name, position.line) {
        ("", _) => "unknown line".to_owned(),
        (name, 0) => format!("{}:?", printable::name(name)),
        (name, line) => format!("{}:{line}", printable::name(name)),
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
