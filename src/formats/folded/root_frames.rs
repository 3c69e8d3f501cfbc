//! The frames before the first recorded one: labels, or the values of keys.

use crate::profile::labels::{Label, LabelKey, LabelValue, LabelsId};
use crate::profile::{Profile, Row, Tables};
use crate::report::key::ReportKey;
use perf_data::error::{Error, Result};
use perf_data::session::names::NameId;
use perf_data::session::thread_name::unnamed_thread;

/// The frame of a sample that lacks a value which others have.
const UNKNOWN: &str = "[unknown]";

/// The frames of labels: the thread, as `comm`, `comm-PID` or `comm-PID/TID`, then other labels. By default,
/// the thread ID of an imported profile only replaces a missing name.
pub(super) fn label_frames(labels: &[LabelValue], tables: &Tables, has_default_labels: bool) -> Vec<Vec<u8>> {
    let name = |value: u64| tables.names.name(NameId(value as u32));
    let (mut comm, mut pid, mut tid) = (None, None, None);
    let mut roots = Vec::new();
    for label in labels {
        let LabelKey::Known(kind) = label.key else { continue };
        match kind {
            Label::Comm | Label::ThreadComm | Label::ThreadName | Label::ThreadPool => comm = Some(name(label.value)),
            Label::Pid => pid = Some(label.value as u32 as i32),
            Label::Tid => tid = Some(label.value as u32 as i32),
            _ if kind.unit().is_some() => roots.push(format!("{} {}", kind.key(), label.value).into_bytes()),
            _ => roots.push([kind.key().as_bytes(), b" ", name(label.value)].concat()),
        }
    }
    let unnamed = || Some(unnamed_thread(tid.or(pid)? as u32).into_owned().into_bytes());
    let comm = comm.filter(|name| !name.is_empty());
    let Some(mut root) = comm.map(<[u8]>::to_vec).or_else(unnamed) else { return roots };
    // As in other tools, counts are separated by a space.
    root.iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'_');
    let pid_text = pid.map_or("?".to_owned(), |pid| pid.to_string());
    if let Some(tid) = tid.filter(|_| !has_default_labels) {
        root.extend_from_slice(format!("-{pid_text}/{tid}").as_bytes());
    } else if pid.is_some() {
        root.extend_from_slice(format!("-{pid_text}").as_bytes());
    }
    roots.insert(0, root);
    roots
}

/// The frames of keys: names as they are, and numbers after the name of the key.
pub(super) fn key_frames(keys: &[ReportKey], row: &Row, tables: &Tables) -> Vec<Vec<u8>> {
    let frame = |key: &ReportKey| match (key.sample_text(row, tables), key.labels()) {
        (None, _) => UNKNOWN.to_owned(),
        (Some(number), [label]) if label.unit().is_some() => format!("{} {number}", key.name()),
        (Some(text), _) => text,
    };
    keys.iter().map(|key| frame(key).into_bytes()).collect()
}

/// Fails if stacks cannot be grouped by a key: locations in the stacks have it, or no sample.
pub(super) fn check_keys(keys: &[ReportKey], profile: &Profile) -> Result<()> {
    if let Some(key) = keys.iter().find(|key| !key.is_sample_key()) {
        let names = ReportKey::NAMES.iter().filter(|(_, key)| key.is_sample_key()).map(|(name, _)| *name);
        let names = names.collect::<Vec<_>>().join(", ");
        let name = key.name();
        return Err(Error::invalid(format!("stacks cannot be grouped by '{name}'; expected one of: {names}")));
    }
    // A part of a split may lack what others have.
    let sets = &profile.tables.labels;
    let has_label = |label| (0..sets.iter().len()).any(|id| sets.value(id as LabelsId, label).is_some());
    // The first label of a key is essential: a process without a name has an ID.
    match keys.iter().find(|key| key.labels().first().is_some_and(|&label| !has_label(label))) {
        Some(key) if !profile.rows.is_empty() => {
            Err(Error::invalid(format!("samples have no '{}', by which stacks are grouped", key.name())))
        }
        _ => Ok(()),
    }
}
