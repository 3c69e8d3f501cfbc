//! Generates Rust types from `proto/`, for the formats that use protobuf, and stores features and target for `--version --verbose`.

use std::env;

#[cfg(feature = "protobuf")]
#[path = "proto/generate.rs"]
mod proto;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rustc-env=PERFCONV_TARGET={}", env::var("TARGET")?);
    let enabled = env::vars().filter_map(|(name, _)| Some(name.strip_prefix("CARGO_FEATURE_")?.to_lowercase()));
    let mut features: Vec<_> = enabled.map(|name| name.replace('_', "-")).collect();
    features.retain(|name| !["cli", "default", "testing"].contains(&name.as_str()));
    features.sort();
    println!("cargo:rustc-env=PERFCONV_FEATURES={}", features.join(", "));
    // Tests start the program thousands of times, which takes two thirds of the time if nothing is relocated.
    if env::var("PROFILE")? == "debug" && env::var("CARGO_CFG_TARGET_ENV")? == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    #[cfg(feature = "protobuf")]
    proto::generate()?;
    Ok(())
}
