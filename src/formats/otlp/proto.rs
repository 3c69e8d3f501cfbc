//! Generated messages of `proto/otlp.proto`, and those of an earlier version in `proto/otlp_1_7.proto`.

#![allow(missing_docs, reason = "generated; the fields are described in the .proto files")]
#![allow(dead_code, reason = "messages that contain lists are written field by field; tests decode them")]

include!(concat!(env!("OUT_DIR"), "/opentelemetry.proto.profiles.v1development.rs"));

/// Messages of version 1.7.
pub mod v1_7 {
    include!(concat!(env!("OUT_DIR"), "/opentelemetry.proto.profiles.v1development_1_7.rs"));
}
