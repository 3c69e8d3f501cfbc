//! Generated messages of `proto/otlp.proto`.

#![allow(missing_docs, reason = "generated; the fields are described in proto/otlp.proto")]
#![allow(dead_code, reason = "messages that contain lists are written field by field; tests decode them")]

include!(concat!(env!("OUT_DIR"), "/opentelemetry.proto.profiles.v1development.rs"));
