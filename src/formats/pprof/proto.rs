//! The messages of `proto/profile.proto`.

#![expect(missing_docs, reason = "generated; the fields are described in proto/profile.proto")]

include!(concat!(env!("OUT_DIR"), "/perftools.profiles.rs"));
