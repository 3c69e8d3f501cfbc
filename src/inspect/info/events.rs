//! Events, in the format of `perf evlist -v` and `perf evlist -g`.

use crate::profile::perf_event_name::perf_event_names;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::group_desc::GroupDesc;
use perf_data::abi::{self, sample_type::SampleType};
use perf_data::stream::event_name::event_name;
use perf_data::stream::meta::Meta;
use serde::Serialize;

/// An event of a recording.
#[derive(Serialize)]
pub struct EventInfo<'a> {
    /// Name; a generated one if the recording has none.
    pub name: String,
    /// Attributes with which it was opened.
    pub attr: &'a Attr,
    /// IDs, one for each CPU or thread that it was opened on.
    pub ids: &'a [u64],
}

/// What events are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventNames {
    /// As recorded; an event without a name is called after its type and config.
    Recorded,
    /// As perf calls them: an event without a name also has modifiers, and names that simpleperf recorded are not read.
    Perf,
}

/// The events of a recording.
pub fn events(meta: &Meta, names: EventNames) -> Vec<EventInfo<'_>> {
    let names = match names {
        EventNames::Recorded => meta.events.list().iter().map(event_name).collect(),
        EventNames::Perf => perf_event_names(meta),
    };
    let list = meta.events.list().iter().zip(names);
    list.map(|(event, name)| EventInfo { name, attr: &event.attr, ids: &event.ids }).collect()
}

/// Lines of `perf evlist -v`: each event with the nonzero fields of its attr.
pub fn lines(meta: &Meta, names: EventNames) -> Vec<String> {
    let line = |event: EventInfo<'_>| format!("{}: {}", event.name, fields(event.attr, ": "));
    events(meta, names).into_iter().map(line).collect()
}

/// Lines of `perf evlist -g`: `name{leader,member}` for each group, and the names of ungrouped events.
pub fn groups(meta: &Meta, names: EventNames) -> Vec<String> {
    let names: Vec<String> = events(meta, names).into_iter().map(|event| event.name).collect();
    let section = meta.features.get(&FeatureId::GROUP_DESC);
    let desc = section.and_then(|section| abi::parse::<GroupDesc>(section, meta.endian, ()).ok());
    let groups = desc.map(|(desc, _)| desc.groups).unwrap_or_default();
    let (mut lines, mut at) = (Vec::new(), 0);
    while let Some(name) = names.get(at) {
        let group = groups.iter().find(|group| group.leader_idx as usize == at && group.nr_members > 1);
        let members = group.and_then(|group| Some((group, names.get(at..at + group.nr_members as usize)?)));
        match members {
            Some((group, members)) => {
                lines.push(format!("{}{{{}}}", group_name(&group.name.to_text()), members.join(",")));
                at += members.len();
            }
            None => {
                lines.push(name.clone());
                at += 1;
            }
        }
    }
    lines
}

/// Name of a group; empty for the placeholder that perf writes for unnamed groups.
pub(super) fn group_name(name: &str) -> &str {
    if name == "{anon_group}" { "" } else { name }
}

/// The nonzero fields of an attr, with `is` between name and value.
pub(super) fn fields(attr: &Attr, is: &str) -> String {
    let mut fields = Vec::new();
    let mut field = |name: &str, value: String| {
        if !["", "0", "0x0"].contains(&&*value) {
            fields.push(format!("{name}{is}{value}"));
        }
    };
    let hex = |value: u64| format!("{value:#x}");
    field("type", attr.kind.0.to_string());
    field("size", attr.size.to_string());
    field("config", hex(attr.config));
    field("{ sample_period, sample_freq }", attr.sample_period.to_string());
    // perf has no name for this bit.
    field("sample_type", sample_type(attr.sample_type - SampleType::TRANSACTION));
    field("read_format", names(attr.read_format.iter_names()));
    let precise_ip = AttrFlags::PRECISE_IP_0 | AttrFlags::PRECISE_IP_1;
    let mut has_precise_ip = false;
    for (name, flag) in attr.flags.iter_names() {
        if flag.bits() >= AttrFlags::PRECISE_IP_0.bits() && !std::mem::replace(&mut has_precise_ip, true) {
            field("precise_ip", attr.flags.precise_ip().to_string());
        }
        if !precise_ip.contains(flag) {
            field(&name.to_lowercase(), "1".into());
        }
    }
    field("{ wakeup_events, wakeup_watermark }", attr.wakeup_events.to_string());
    field("bp_type", attr.bp_type.to_string());
    field("{ bp_addr, config1 }", hex(attr.bp_addr));
    field("{ bp_len, config2 }", hex(attr.bp_len));
    field("branch_sample_type", names(attr.branch_sample_type.iter_names()));
    field("sample_regs_user", hex(attr.sample_regs_user));
    field("sample_stack_user", attr.sample_stack_user.to_string());
    field("clockid", attr.clockid.to_string());
    field("sample_regs_intr", hex(attr.sample_regs_intr));
    field("aux_watermark", attr.aux_watermark.to_string());
    field("sample_max_stack", attr.sample_max_stack.to_string());
    field("aux_sample_size", attr.aux_sample_size.to_string());
    field("sig_data", attr.sig_data.to_string());
    field("config3", hex(attr.config3));
    field("config4", hex(attr.config4));
    fields.join(", ")
}

/// Names of sample fields, in perf's order: that of the bits, but that two of them follow REGS_INTR.
fn sample_type(fields: SampleType) -> String {
    let mut list: Vec<_> = fields.iter_names().collect();
    list.sort_by_key(|&(_, field)| match field {
        SampleType::DATA_SRC => (SampleType::REGS_INTR.bits(), 1),
        SampleType::WEIGHT => (SampleType::REGS_INTR.bits(), 2),
        _ => (field.bits(), 0),
    });
    names(list.into_iter())
}

fn names<T>(flags: impl Iterator<Item = (&'static str, T)>) -> String {
    flags.map(|(name, _)| name).collect::<Vec<_>>().join("|")
}
