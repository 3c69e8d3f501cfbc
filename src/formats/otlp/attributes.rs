//! Attributes by the semantic conventions of OpenTelemetry: of samples, from their labels, and of the machine.

use super::Otlp;
use super::dictionary::Dictionary;
use super::proto::{AnyValue, KeyValue, Resource};
use crate::profile::Tables;
use crate::profile::labels::{Label, LabelKey, LabelValue};
use perf_data::session::names::NameId;

/// The version of the conventions.
pub(super) const SCHEMA: &str = "https://opentelemetry.io/schemas/1.37.0";

/// Labels by default.
pub(super) const LABELS: &[Label] = &[Label::Pid, Label::Tid, Label::Comm, Label::ThreadComm];

/// The attribute of a label. Labels that the conventions lack keep their keys.
fn key(label: Label) -> &'static str {
    match label {
        Label::Pid => "process.pid",
        Label::Tid => "thread.id",
        Label::Comm => "process.executable.name",
        Label::ThreadComm => "thread.name",
        Label::Cpu => "cpu.logical_number",
        Label::Cgroup => "process.linux.cgroup",
        label => label.key(),
    }
}

/// The key of the label that an attribute is written for; that of the attribute for others.
pub(super) fn label_key(attribute: &str) -> &str {
    Label::ALL.iter().find(|&&label| key(label) == attribute).map_or(attribute, |label| label.key())
}

/// The attribute with the build ID of a mapping.
pub(super) const BUILD_ID: &str = "process.executable.build_id.gnu";

/// The attribute with the kind of code of a location.
pub(super) const FRAME_TYPE: &str = "profile.frame.type";

/// The kind of code of the kernel.
pub(super) const KERNEL_FRAME: &str = "kernel";

/// The ID of the list of a sample's attributes. Of labels with the same attribute, the first counts.
pub(super) fn from_labels(labels: &[LabelValue], tables: &Tables, dictionary: &mut Dictionary<'_>) -> u32 {
    let mut keys = Vec::with_capacity(labels.len());
    let mut list = Vec::with_capacity(labels.len());
    for label in labels {
        let (key, unit, number) = match label.key {
            // IDs are signed, and no quantities.
            LabelKey::Known(kind @ (Label::Pid | Label::Tid | Label::Cpu)) => {
                (key(kind), Some(""), i64::from(label.value as u32 as i32))
            }
            LabelKey::Known(kind) => (key(kind), kind.unit(), label.value as i64),
            LabelKey::Imported(number) => {
                let own = tables.imported.as_ref().and_then(|imported| imported.labels.get(number as usize));
                let Some(own) = own else { continue };
                (&*own.key, own.unit.as_deref(), label.value as i64)
            }
            LabelKey::BranchFlags => ("branch_flags", Some(""), label.value as i64),
            LabelKey::Access(_) => continue,
        };
        if keys.contains(&key) {
            continue;
        }
        keys.push(key);
        list.push(match unit {
            Some(unit) => dictionary.number(key, number, unit),
            None => dictionary.text(key, tables.names.name(NameId(label.value as u32))),
        });
    }
    dictionary.attribute_list_id(&list)
}

/// The machine of a recording, the name of the service, and other attributes that were given.
pub(super) fn resource(tables: &Tables, options: &Otlp) -> Resource {
    let fact = |name| tables.fact(name).map(String::as_str);
    let os = fact("kernel").map(|_| "linux");
    let attributes = [
        ("service.name", options.service_name.as_deref()),
        ("host.name", fact("host")),
        ("host.arch", fact("arch").map(architecture)),
        ("host.cpu.model.name", fact("cpu")),
        ("os.type", os),
        ("os.version", fact("kernel")),
    ];
    let text = |text: &str| AnyValue { string_value: Some(text.to_owned()), int_value: None };
    let attribute = |key: &str, value: &str| KeyValue { key: key.to_owned(), value: Some(text(value)) };
    let given = options.resource_attribute.iter().map(|(key, value)| (&**key, &**value));
    let recorded = attributes.into_iter().filter_map(|(key, value)| Some((key, value?)));
    // A given attribute replaces a recorded one.
    let recorded = recorded.filter(|(key, _)| given.clone().all(|(other, _)| other != *key));
    Resource { attributes: recorded.chain(given.clone()).map(|(key, value)| attribute(key, value)).collect() }
}

/// The name of an architecture in the conventions.
fn architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i386" | "i486" | "i586" | "i686" => "x86",
        "ppc64le" => "ppc64",
        "ppc" => "ppc32",
        _ if machine.starts_with("armv") => "arm32",
        _ => machine,
    }
}
