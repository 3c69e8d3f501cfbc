//! Generated messages of `proto/profile.proto`.

#![allow(missing_docs, reason = "generated; the fields are described in proto/profile.proto")]

include!(concat!(env!("OUT_DIR"), "/perftools.profiles.rs"));
