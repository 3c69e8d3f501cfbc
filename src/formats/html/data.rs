//! The data of a page.

use super::Html;
use super::code::EmbeddedCode;
use super::measures;
use crate::profile::Profile;
use crate::profile::event::Unit;
use crate::protobuf::varint;
use crate::report::call_tree::{CallTree, TreeKey, TreeWait};
use crate::report::facts::{facts, warnings};
use crate::report::ratio::{EventRatio, MIN_SAMPLES};
use hashbrown::HashMap;
use perf_data::printable;
use perf_data::session::names::{NameId, Names};
use serde_json::json;
use std::io::{Result, Write};

/// Names by their index in the data.
pub(super) struct Strings<'a> {
    names: &'a Names,
    list: Vec<String>,
    ids: HashMap<NameId, u64>,
    /// Of texts that are not among the names.
    texts: HashMap<String, u64>,
}

impl Strings<'_> {
    fn id(&mut self, name: NameId) -> u64 {
        let Self { names, list, ids, .. } = self;
        *ids.entry(name).or_insert_with(|| {
            list.push(printable::name(&String::from_utf8_lossy(names.name(name))).into_owned());
            list.len() as u64 - 1
        })
    }

    /// The number of another text.
    pub(super) fn text_id(&mut self, text: &str) -> u64 {
        if let Some(&id) = self.texts.get(text) {
            return id;
        }
        self.list.push(printable::name(text).into_owned());
        let id = self.list.len() as u64 - 1;
        self.texts.insert(text.to_owned(), id);
        id
    }
}

/// Writes the JSON object with its length, then each column with its length: functions (full and short name, file, whether of the
/// kernel), frames (function, source file, line, whether inlined), nodes (how much less deep than a child of the node before, frame),
/// threads (name, ID, name and ID of the process, CPU; each is 0 if unknown, or else one more) and rows (node since the one before,
/// event, thread, interval of time, whether of the base, samples, value) and waits (thread, reason, first interval of time, number of
/// further ones, nanoseconds). [Code](EmbeddedCode) follows, if the page contains it.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write(
    profile: &Profile,
    title: &str,
    (tree, options, ratio): (&CallTree, &Html, Option<EventRatio>),
    out: &mut dyn Write,
) -> Result<()> {
    let mut strings = Strings { names: &tree.names, list: Vec::new(), ids: HashMap::new(), texts: HashMap::new() };
    let mut columns: Vec<Vec<u8>> = Vec::new();
    let mut column = |values: &mut dyn Iterator<Item = u64>| columns.push(encoded(values));
    column(&mut tree.functions.iter().map(|function| strings.id(function.name)));
    let short = |name| tree.short_names.get(&name).copied().unwrap_or(name);
    column(&mut tree.functions.iter().map(|function| strings.id(short(function.name))));
    column(&mut tree.functions.iter().map(|function| strings.id(function.dso)));
    column(&mut tree.functions.iter().map(|function| function.is_kernel.into()));
    column(&mut tree.frames.iter().map(|frame| frame.function.into()));
    column(&mut tree.frames.iter().map(|frame| strings.id(frame.file)));
    column(&mut tree.frames.iter().map(|frame| frame.line.max(0) as u64));
    column(&mut tree.frames.iter().map(|frame| frame.is_inlined.into()));
    let before = [0].into_iter().chain(tree.nodes.iter().map(|(depth, _)| *depth));
    column(&mut before.zip(&tree.nodes).map(|(before, (depth, _))| u64::from(before + 1 - depth)));
    column(&mut tree.nodes.iter().map(|(_, frame)| (*frame).into()));
    column(&mut tree.threads.iter().map(|thread| thread.comm.map_or(0, |comm| strings.id(comm) + 1)));
    column(&mut tree.threads.iter().map(|thread| thread.tid.map_or(0, |tid| u64::from(tid) + 1)));
    column(&mut tree.threads.iter().map(|thread| thread.program.map_or(0, |program| strings.id(program) + 1)));
    column(&mut tree.threads.iter().map(|thread| thread.pid.map_or(0, |pid| u64::from(pid) + 1)));
    column(&mut tree.threads.iter().map(|thread| thread.cpu.map_or(0, |cpu| u64::from(cpu) + 1)));
    let before = [0].into_iter().chain(tree.rows.iter().map(|(key, _)| key.node));
    column(&mut before.zip(&tree.rows).map(|(before, (key, _))| (key.node - before).into()));
    let keys: [fn(&TreeKey) -> u64; 4] =
        [|key| key.event.into(), |key| key.thread.into(), |key| key.slot.into(), |key| key.is_base.into()];
    keys.iter().for_each(|field| column(&mut tree.rows.iter().map(|(key, _)| field(key))));
    column(&mut tree.rows.iter().map(|(_, counts)| counts.samples));
    column(&mut tree.rows.iter().map(|(_, counts)| counts.value));
    let fields: [fn(&TreeWait) -> u64; 4] = [
        |wait| wait.thread.into(),
        |wait| wait.state.into(),
        |wait| wait.from.into(),
        |wait| (wait.to - wait.from).into(),
    ];
    fields.iter().for_each(|field| column(&mut tree.waits.keys().map(field)));
    column(&mut tree.waits.values().copied());

    let code = (!options.embed.is_empty()).then(|| EmbeddedCode::new(profile, tree, options, &mut strings));
    let event = |name: &String| {
        let event = profile.tables.events.iter().find(|event| event.name == *name);
        let unit = event.map_or("", |event| match event.unit {
            Unit::Nanoseconds => "ns",
            Unit::Bytes => "bytes",
            Unit::Count => "",
        });
        json!([printable::name(name), unit, event.is_some_and(|event| event.is_tracepoint)])
    };
    let mut header = json!({
        "title": title,
        "facts": facts(profile),
        "warnings": warnings(profile),
        "events": tree.events.iter().map(event).collect::<Vec<_>>(),
        "slot": tree.slots.len,
        "inColumn": tree.slots.in_column,
        "hasTimes": profile.times.is_some_and(|(first, last)| first < last),
        "isDiff": profile.base.is_some(),
        "files": files(profile),
        "states": tree.states.iter().map(|&state| state_name(tree, state)).collect::<Vec<_>>(),
        "offCpu": measures::off_cpu_event(profile, tree),
        "parallelism": measures::parallelism(profile),
        "ratios": measures::ratios(profile, tree, ratio.as_ref()),
        "ratioWidth": ratio.as_ref().and_then(|ratio| measures::event_index(profile, tree, ratio.width_event(profile))),
        "minSamples": MIN_SAMPLES,
        "strings": strings.list,
    });
    if let Some(code) = code {
        header["code"] = code.header;
        columns.extend(code.columns);
    }
    let header = serde_json::to_vec(&header)?;
    for block in [header].iter().chain(&columns) {
        out.write_all(&(block.len() as u32).to_le_bytes())?;
        out.write_all(block)?;
    }
    Ok(())
}

fn state_name(tree: &CallTree, state: NameId) -> String {
    printable::name(&String::from_utf8_lossy(tree.names.name(state))).into_owned()
}

/// Names of the input and of the one that it is compared with, without their directories; empty if unknown.
fn files(profile: &Profile) -> [String; 2] {
    [Some(profile), profile.base.as_deref()].map(|profile| {
        let file = profile.and_then(|profile| profile.file.as_deref()).unwrap_or_default();
        printable::name(base_name(file)).into_owned()
    })
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).find(|name| !name.is_empty()).unwrap_or(path)
}

/// Numbers of variable length, as in protobuf.
pub(super) fn encoded(values: &mut dyn Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.for_each(|value| varint(&mut bytes, value));
    bytes
}
