//! Generates the types of `proto/`, for the formats that need them.

#[cfg(feature = "protobuf")]
#[path = "proto/generate.rs"]
mod proto;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    #[cfg(feature = "protobuf")]
    proto::generate()?;
    Ok(())
}
