//! Turns the descriptions in `proto/` into Rust types; protox parses them, so that no `protoc` is needed.

use prost::Message;
use prost_types::DescriptorProto;
use prost_types::field_descriptor_proto::Type;
use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let profile = protox::compile(["proto/profile.proto"], ["proto"])?;
    prost_build::Config::new().compile_fds(profile)?;
    let mut recording = protox::compile(["proto/perf_data.proto"], ["proto"])?;
    for file in &mut recording.file {
        file.message_type.iter_mut().for_each(text_as_bytes);
        // It would have to tell of the entries of maps too.
        file.source_code_info = None;
    }
    let event = ".quipper.PerfDataProto.PerfEvent";
    let mut config = prost_build::Config::new();
    // An event is one of two dozen messages: all in one place would be a kilobyte each time.
    for field in fields(&recording, "PerfEvent").filter(|field| field.ends_with("_event")) {
        config.boxed(format!("{event}.{field}"));
    }
    // For the text form.
    fs::write(Path::new(&env::var("OUT_DIR")?).join("perf_data.bin"), recording.encode_to_vec())?;
    config.compile_fds(recording)?;
    Ok(())
}

/// Names of files and threads need not be UTF-8, which a `string` would have to be. To writers and readers of messages
/// `bytes` are the same; a map is the same as a list of its entries, which keeps their order.
fn text_as_bytes(message: &mut DescriptorProto) {
    for field in message.field.iter_mut().filter(|field| field.r#type() == Type::String) {
        field.set_type(Type::Bytes);
    }
    message.options = None;
    message.nested_type.iter_mut().for_each(text_as_bytes);
}

fn fields(set: &prost_types::FileDescriptorSet, message: &str) -> impl Iterator<Item = String> {
    let messages = set.file.iter().flat_map(|file| &file.message_type).flat_map(|outer| &outer.nested_type);
    let fields = messages.filter(|nested| nested.name() == message).flat_map(|nested| &nested.field);
    fields.map(|field| field.name().to_owned()).collect::<Vec<_>>().into_iter()
}
