//! Generated messages of `proto/perfetto.proto`.

#![allow(missing_docs, reason = "generated; the fields are described in proto/perfetto.proto")]

include!(concat!(env!("OUT_DIR"), "/perfetto.protos.rs"));
