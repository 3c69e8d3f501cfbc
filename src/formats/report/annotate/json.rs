//! Annotated functions as JSON: a line for each instruction and event with samples.

use super::super::json::{counts, end};
use super::Annotate;
use crate::profile::Profile;
use crate::report::annotation::{AnnotatedFunction, Annotation};
use crate::report::location::Locations;
use crate::report::source_files::SourceFiles;
use perf_data::stream::events::EventIndex;
use serde_json::{Map, Value, json};
use std::ops::RangeInclusive;

/// One object: the instructions, the functions whose instructions are unknown, basic blocks and loops of branch stacks, the events with their counts, facts of the recording, and warnings.
pub(super) fn report(
    profile: &Profile,
    locations: &Locations,
    annotation: &Annotation,
    options: &Annotate,
    files: &mut SourceFiles<'_>,
) -> Value {
    let event = |event: EventIndex| &*profile.tables.events[event as usize].name;
    let (mut functions, mut lines) = (Vec::new(), Vec::new());
    let (mut blocks, mut loops) = (Vec::new(), Vec::new());
    for function in &annotation.functions {
        let [name, dso] = [locations.text(function.name), locations.text(function.dso)];
        if let Some(missing) = &function.missing {
            functions.push(json!({ "sym": name, "dso": dso, "missing": missing }));
        }
        for block in function.flow.iter().flat_map(|flow| &flow.blocks) {
            let mut object = code(function, &block.instructions, (&name, &dso));
            object["times"] = block.times.into();
            object["cycles"] = rounded(block.cycles);
            object["ipc"] = rounded(block.ipc());
            blocks.push(object);
        }
        for counted in function.flow.iter().flat_map(|flow| &flow.loops) {
            let mut object = code(function, &counted.instructions, (&name, &dso));
            object["iterations"] = counted.iterations.into();
            object["mispredicted"] = counted.mispredicted.into();
            object["executed"] = counted.executed.into();
            object["cycles"] = rounded(counted.cycles);
            loops.push(object);
        }
        for (index, text) in shown(function, options) {
            let instruction = &function.instructions[index];
            let position = &instruction.position;
            let source = files.text(&position.file);
            let mut object = json!({
                "sym": name,
                "dso": dso,
                "address": format!("{:#x}", instruction.address),
                "instruction": text,
                "target": instruction.target.map(|target| format!("{target:#x}")),
                "file": position.file,
                "line": position.line,
                "source": source.as_ref().and_then(|source| source.line(position.line)),
                "inlined": position.inlined.iter().map(|function| &*function.name).collect::<Vec<_>>(),
            });
            if let Some(flow) = &function.flow {
                object["times"] = flow.times[index].into();
            }
            let mut is_listed = false;
            for (usage, &(number, _)) in instruction.usage.iter().zip(&annotation.events) {
                if usage.total.samples > 0 {
                    let mut object = object.clone();
                    object["event"] = event(number).into();
                    object["total"] = counts(usage.total);
                    object["self"] = counts(usage.own);
                    lines.push(object);
                    is_listed = true;
                }
            }
            if !is_listed {
                lines.push(object);
            }
        }
    }
    let events = annotation
        .events
        .iter()
        .map(|&(number, all)| json!({ "event": event(number), "samples": all.samples, "value": all.value }));
    let mut object = Map::from_iter([("lines".to_owned(), lines.into()), ("functions".to_owned(), functions.into())]);
    if annotation.functions.iter().any(|function| function.flow.is_some()) {
        object.extend([("blocks".to_owned(), blocks.into()), ("loops".to_owned(), loops.into())]);
    }
    object.append(&mut end(profile, events.collect()));
    object.into()
}

/// Instructions that follow each other, with the position of the first.
fn code(function: &AnnotatedFunction, range: &RangeInclusive<usize>, (name, dso): (&str, &str)) -> Value {
    let [first, last] = [range.start(), range.end()].map(|&index| &function.instructions[index]);
    json!({
        "sym": name,
        "dso": dso,
        "start": format!("{:#x}", first.address),
        "end": format!("{:#x}", last.address),
        "instructions": range.clone().count(),
        "file": first.position.file,
        "line": first.position.line,
    })
}

/// A number with two decimals.
fn rounded(number: Option<f64>) -> Value {
    number.map(|number| (number * 100.0).round() / 100.0).into()
}

/// The instructions to show, in order, with their texts.
fn shown<'a>(
    function: &'a AnnotatedFunction,
    options: &Annotate,
) -> impl Iterator<Item = (usize, Option<&'a str>)> + use<'a> {
    let near = options.contents.context.map(|context| function.near_samples(context as usize));
    let order = function.blocks.iter().flat_map(|block| block.instructions.iter().copied());
    let is_shown = move |index: &usize| near.as_ref().is_none_or(|near| near[*index]);
    order.filter(is_shown).map(|index| (index, function.instructions[index].text.as_deref()))
}
