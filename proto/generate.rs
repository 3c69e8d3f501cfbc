//! Generates Rust types from the .proto files; protox parses them, so that `protoc` is not needed.

use prost::Message;
use prost_types::DescriptorProto;
use prost_types::field_descriptor_proto::{Label, Type};
use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

/// Writes the files that the library includes.
pub(crate) fn generate() -> Result<(), Box<dyn Error>> {
    for file in ["proto/profile.proto", "proto/perfetto.proto"] {
        prost_build::Config::new().compile_fds(protox::compile([file], ["proto"])?)?;
    }
    generate_otlp()?;
    let mut recording = protox::compile(["proto/perf_data.proto"], ["proto"])?;
    for file in &mut recording.file {
        file.message_type.iter_mut().for_each(text_as_bytes);
        // It no longer matches after the removal of map options.
        file.source_code_info = None;
    }
    let event = ".quipper.PerfDataProto.PerfEvent";
    let mut config = prost_build::Config::new();
    // Boxed, because an event contains one of two dozen messages; inline, each event would take a kilobyte.
    for field in fields(&recording, "PerfEvent").filter(|field| field.ends_with("_event")) {
        config.boxed(format!("{event}.{field}"));
    }
    let out = env::var("OUT_DIR")?;
    // For the text format.
    fs::write(Path::new(&out).join("perf_data.bin"), recording.encode_to_vec())?;
    fs::write(Path::new(&out).join("schema.rs"), schema(&recording)?)?;
    config.compile_fds(recording)?;
    Ok(())
}

/// Fields of OTLP with their names in the JSON of versions before 1.9.
const EARLIER_NAMES: [(&str, &str); 2] = [("samples", "sample"), ("lines", "line")];

/// The messages of OTLP also have its JSON form: names in camel case, numbers of 64 bits as text, no default values. Numbers are read
/// with and without quotes, as protobuf allows.
fn generate_otlp() -> Result<(), Box<dyn Error>> {
    let set = protox::compile(["proto/otlp.proto", "proto/otlp_1_7.proto"], ["proto"])?;
    let mut config = prost_build::Config::new();
    config.type_attribute(".", "#[derive(::serde::Serialize, ::serde::Deserialize)]");
    config.type_attribute(".", "#[serde(rename_all = \"camelCase\", default)]");
    let json = "crate::formats::otlp::json";
    for (file, message) in set.file.iter().flat_map(|file| file.message_type.iter().map(move |message| (file, message)))
    {
        let name = format!(".{}.{}", file.package(), message.name());
        for field in &message.field {
            let path = format!("{name}.{}", field.name());
            if let Some((_, earlier)) = EARLIER_NAMES.iter().find(|(current, _)| *current == field.name()) {
                config.field_attribute(&path, format!("#[serde(alias = \"{earlier}\")]"));
            }
            config.field_attribute(&path, format!("#[serde(skip_serializing_if = \"{json}::is_default\")]"));
            let (write, read) = match field.label() {
                Label::Repeated => ("texts", "numbers"),
                _ if field.proto3_optional() => ("optional_text", "optional_number"),
                _ => ("text", "number"),
            };
            let is_long = matches!(field.r#type(), Type::Int64 | Type::Uint64 | Type::Fixed64);
            if is_long {
                config.field_attribute(&path, format!("#[serde(serialize_with = \"{json}::{write}\")]"));
            }
            if is_long || field.r#type() == Type::Int32 {
                config.field_attribute(&path, format!("#[serde(deserialize_with = \"{json}_import::{read}\")]"));
            }
        }
    }
    Ok(config.compile_fds(set)?)
}

/// Names of files and threads may not be UTF-8, as a `string` would require. On the wire, `bytes` are the same; and a
/// map is the same as a list of entries, which preserves their order.
fn text_as_bytes(message: &mut DescriptorProto) {
    for field in message.field.iter_mut().filter(|field| field.r#type() == Type::String) {
        field.set_type(Type::Bytes);
    }
    message.options = None;
    message.nested_type.iter_mut().for_each(text_as_bytes);
}

/// Generates a Rust table of the fields of every message, by number.
fn schema(set: &prost_types::FileDescriptorSet) -> Result<String, Box<dyn Error>> {
    let mut messages = Vec::new();
    for file in &set.file {
        for message in &file.message_type {
            list(message, format!(".{}", file.package()), &mut messages);
        }
    }
    let place =
        |name: &str| messages.iter().position(|(known, _)| known == name).ok_or(format!("missing message {name}"));
    let mut table = String::new();
    for (_, message) in &messages {
        let mut fields: Vec<_> = message.field.iter().collect();
        fields.sort_by_key(|field| field.number());
        table += "    &[\n";
        for field in fields {
            let kind = match field.r#type() {
                Type::Message => format!("Message({})", place(field.type_name())?),
                Type::Bool => "Bool".to_owned(),
                Type::Uint32 => "Uint32".to_owned(),
                Type::Uint64 => "Uint64".to_owned(),
                Type::Fixed64 => "Fixed64".to_owned(),
                Type::Bytes => "Bytes".to_owned(),
                other => return Err(format!("field {}: {} is not supported", field.name(), other.as_str_name()).into()),
            };
            let (number, name) = (field.number(), field.name());
            let is_repeated = field.label() == Label::Repeated;
            table += &format!(
                "        Field {{ number: {number}, name: \"{name}\", kind: Kind::{kind}, is_repeated: {is_repeated} }},\n"
            );
        }
        table += "    ],\n";
    }
    let (outer, event) = (place(".quipper.PerfDataProto")?, place(".quipper.PerfDataProto.PerfEvent")?);
    Ok(format!(
        "/// Index of PerfDataProto.\npub(crate) const PERF_DATA_PROTO: usize = {outer};\n\
         /// Index of PerfDataProto.PerfEvent.\npub(crate) const PERF_EVENT: usize = {event};\n\
         /// The fields of each message, by number.\npub(crate) static MESSAGES: &[&[Field]] = &[\n{table}];\n"
    ))
}

fn list<'a>(message: &'a DescriptorProto, outer: String, messages: &mut Vec<(String, &'a DescriptorProto)>) {
    let name = format!("{outer}.{}", message.name());
    message.nested_type.iter().for_each(|nested| list(nested, name.clone(), messages));
    messages.push((name, message));
}

fn fields(set: &prost_types::FileDescriptorSet, message: &str) -> impl Iterator<Item = String> {
    let messages = set.file.iter().flat_map(|file| &file.message_type).flat_map(|outer| &outer.nested_type);
    let fields = messages.filter(|nested| nested.name() == message).flat_map(|nested| &nested.field);
    fields.map(|field| field.name().to_owned()).collect::<Vec<_>>().into_iter()
}
