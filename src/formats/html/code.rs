//! The source lines and instructions of functions that a page contains on request.

use super::data::{Strings, encoded};
use super::{Embed, Html};
use crate::profile::Profile;
use crate::report::annotation::{AnnotatedFunction, Annotation, BlockOrder, CodePosition};
use crate::report::call_tree::CallTree;
use crate::report::location::{LocationId, LocationSelection, Locations};
use crate::report::source_files::SourceFiles;
use crate::report::{Counts, Usage};
use hashbrown::HashMap;
use perf_data::printable;
use perf_data::session::names::NameId;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::sync::Arc;

/// Number of functions whose code a page contains, those with the most own samples.
const MAX_FUNCTIONS: usize = 200;

/// Number of instructions of a function above which a page has only those around samples.
const MAX_INSTRUCTIONS: usize = 5000;

/// Number of instructions before and after samples in such functions.
const CONTEXT: usize = 50;

/// Code in the data of a page.
pub(super) struct EmbeddedCode {
    /// What the header has of it.
    pub header: Value,
    /// Columns behind those of the stacks: of instructions, the address since the one before, the text and the position; then positions
    /// as file, line, text and inlined functions; then samples as instruction since the one before, event, own samples and value, and
    /// total samples and value.
    pub columns: Vec<Vec<u8>>,
}

/// Texts that may be unknown have numbers from 1.
fn optional(strings: &mut Strings<'_>, text: Option<&str>) -> u64 {
    text.filter(|text| !text.is_empty()).map_or(0, |text| strings.text_id(text) + 1)
}

impl EmbeddedCode {
    /// The code of the functions with the most own samples.
    pub(super) fn new(profile: &Profile, tree: &CallTree, options: &Html, strings: &mut Strings<'_>) -> Self {
        let tables = &*profile.tables;
        let locations = Locations::with_names(tables, tables.function_names);
        let (selection, omitted) = selected(profile, &locations);
        let annotation = Annotation::new(profile, &locations, &selection, BlockOrder::Address);
        let (has_source, has_code) = (options.embed.contains(&Embed::Source), options.embed.contains(&Embed::Code));
        let root = tables.code.as_ref().and_then(|code| code.source_root());
        let mut files = match has_source {
            true => SourceFiles::new(root, &options.source_dir),
            false => SourceFiles::none(),
        };
        if has_source {
            annotation.add_missing_sources(profile, &mut files);
        }
        let event = |name: &str| tree.events.iter().position(|event| event == name);
        let events: Vec<_> =
            annotation.events.iter().map(|&(index, _)| event(&tables.events[index as usize].name)).collect();
        let (mut functions, mut addresses, mut texts, mut positions) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut position_ids: HashMap<&CodePosition, u64> = HashMap::new();
        // Instructions of a line share its position: its texts are compared once.
        let mut by_pointer: HashMap<*const CodePosition, u64> = HashMap::new();
        let (mut described, mut samples, mut latest) = (Vec::new(), Vec::new(), 0);
        for function in &annotation.functions {
            let [name, dso] = [function.name, function.dso].map(|name| strings.text_id(&locations.text(name)));
            let shown = shown_instructions(function);
            let is_newer = |file: &&str| files.is_newer(file, function.modified);
            let newer: Vec<_> = function.sampled_files().into_iter().filter(is_newer).map(printable::name).collect();
            let first = shown.first().map_or(0, |&index| function.instructions[index].address);
            functions.push(json!({
                "name": name,
                "dso": dso,
                "start": format!("{first:x}"),
                "count": shown.len(),
                "missing": function.missing,
                "omitted": function.instructions.len() - shown.len(),
                "newer": newer,
            }));
            let mut before = first;
            for index in shown {
                let instruction = &function.instructions[index];
                addresses.push(instruction.address.wrapping_sub(before));
                before = instruction.address;
                texts.push(optional(strings, instruction.text.as_deref().filter(|_| has_code)));
                let next = position_ids.len() as u64;
                positions.push(*by_pointer.entry(Arc::as_ptr(&instruction.position)).or_insert_with(|| {
                    *position_ids.entry(&*instruction.position).or_insert_with(|| {
                        described.extend(describe(&instruction.position, &mut files, strings));
                        next
                    })
                }));
                let number = addresses.len() - 1;
                for (usage, event) in instruction.usage.iter().zip(&events) {
                    let (Usage { own, total }, Some(event)) = (*usage, *event) else { continue };
                    if total == Counts::default() {
                        continue;
                    }
                    let counts = [own.samples, own.value, total.samples, total.value];
                    samples.extend([(number - latest) as u64, event as u64].into_iter().chain(counts));
                    latest = number;
                }
            }
        }
        let header = json!({ "functions": functions, "omitted": omitted, "source": has_source, "code": has_code });
        let columns = [addresses, texts, positions, described, samples];
        Self { header, columns: columns.map(|column| encoded(&mut column.into_iter())).into() }
    }
}

/// File, line, text of the line, and the functions that are inlined there, after their number.
fn describe(position: &CodePosition, files: &mut SourceFiles<'_>, strings: &mut Strings<'_>) -> Vec<u64> {
    let source = files.text(&position.file);
    let text = source.as_ref().and_then(|source| source.line(position.line)).map(|line| line.replace('\t', "    "));
    let mut numbers = vec![
        optional(strings, Some(&position.file)),
        position.line.max(0) as u64,
        optional(strings, text.as_deref()),
        position.inlined.len() as u64,
    ];
    numbers.extend(position.inlined.iter().map(|function| strings.text_id(&function.name)));
    numbers
}

/// The instructions of a function that a page has.
fn shown_instructions(function: &AnnotatedFunction) -> Vec<usize> {
    let all = 0..function.instructions.len();
    if all.len() <= MAX_INSTRUCTIONS {
        return all.collect();
    }
    let near = function.near_samples(CONTEXT);
    all.filter(|&index| near[index]).take(MAX_INSTRUCTIONS).collect()
}

/// The functions with the most own samples, and the number of others with own samples.
fn selected(profile: &Profile, locations: &Locations) -> (LocationSelection, usize) {
    let mut own: HashMap<NameId, u64> = HashMap::new();
    for row in &profile.rows {
        let frames = profile.tables.stacks.stack(row.stack);
        let innermost = frames.first().and_then(|&frame| locations.frame_locations(frame).first());
        if let Some(location) = innermost.map(|&id| locations.get(id)).filter(|location| location.is_named) {
            let samples = own.entry(location.function).or_default();
            *samples = samples.saturating_add(row.samples);
        }
    }
    let mut functions: Vec<(NameId, u64)> = own.into_iter().collect();
    functions.sort_by_key(|&(function, samples)| (Reverse(samples), function.0));
    let omitted = functions.len().saturating_sub(MAX_FUNCTIONS);
    functions.truncate(MAX_FUNCTIONS);
    let functions: HashMap<NameId, u64> = functions.into_iter().collect();
    let ids = 0..locations.list().len() as LocationId;
    let is_selected = ids.map(|id| functions.contains_key(&locations.get(id).function)).collect();
    (LocationSelection { title: String::new(), is_selected }, omitted)
}
