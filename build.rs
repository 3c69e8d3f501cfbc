//! Generates Rust types from `proto/`, for the formats that use protobuf.

#[cfg(feature = "protobuf")]
#[path = "proto/generate.rs"]
mod proto;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    #[cfg(feature = "protobuf")]
    proto::generate()?;
    Ok(())
}
