//! Identifiers that are the same on every machine: hashes of what they identify.

use perf_data::session::map::Map;
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use sha2::{Digest, Sha256};
use std::fmt;

/// The first 128 bits of a SHA-256. Among 10^12 of them, two are equal with a probability of 10^-15. In datasets of others, they can
/// be any bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub [u8; 16]);

/// In hexadecimal.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hashes fields, each with its length, so that different fields never have the same bytes.
pub(super) struct IdHasher(Sha256);

impl IdHasher {
    /// Begins the identifier of a kind of thing.
    pub(super) fn new(kind: &str) -> Self {
        let mut hasher = Self(Sha256::new());
        hasher.field(kind.as_bytes());
        hasher
    }

    pub(super) fn field(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        self.field(&number.to_le_bytes())
    }

    /// Adds bytes that are one field with those before.
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Ends the identifier.
    pub(super) fn finish(self) -> Id {
        let hash: [u8; 32] = self.0.finalize().into();
        Id(*hash.first_chunk().expect("a SHA-256 has 32 bytes"))
    }
}

/// Identifies a recording by its events, features and records, without AUX data.
pub(super) struct RecordingHasher(IdHasher);

impl Default for RecordingHasher {
    fn default() -> Self {
        Self(IdHasher::new("recording"))
    }
}

impl RecordingHasher {
    pub(super) fn record(&mut self, raw: &Raw<'_>) {
        let header = raw.header();
        let mut word = [0; 8];
        word[..4].copy_from_slice(&header.kind.0.to_le_bytes());
        word[4..6].copy_from_slice(&header.misc.bits().to_le_bytes());
        word[6..].copy_from_slice(&header.size.to_le_bytes());
        self.0.bytes(&word);
        self.0.bytes(raw.body());
    }

    /// Adds the metadata, and ends the identifier.
    pub(super) fn finish(mut self, meta: &Meta) -> Id {
        self.0.field(&origin(meta, None).0);
        self.0.finish()
    }
}

/// Identifies a run of perf, for objects that have no build ID: by events, features and the first record.
pub(super) fn origin(meta: &Meta, first: Option<&Raw<'_>>) -> Id {
    let mut hasher = IdHasher::new("origin");
    for event in meta.events.list() {
        hasher.number(event.attr.kind.0.into()).number(event.attr.config).number(event.ids.len() as u64);
        for &id in &event.ids {
            hasher.number(id);
        }
    }
    for (id, bytes) in &meta.features {
        hasher.number(id.0.into()).field(bytes);
    }
    if let Some(raw) = first {
        hasher.field(raw.body());
    }
    hasher.finish()
}

/// Identifies an object: by name and build ID, or else by name and the run of perf; memory also by its process and address.
pub(super) fn object(name: &[u8], build_id: Option<&[u8]>, map: &Map, origin: Id) -> Id {
    let mut hasher = IdHasher::new("object");
    hasher.field(name);
    match (build_id, map.pid) {
        (Some(build_id), None) => hasher.field(build_id),
        (_, None) => hasher.field(b"").field(&origin.0),
        (_, Some(pid)) => hasher.field(b"").field(&origin.0).number(pid.into()).number(map.start),
    };
    hasher.finish()
}

/// Identifies a frame by its place in an object.
pub(super) fn frame(object: Id, offset: u64) -> Id {
    let mut hasher = IdHasher::new("frame");
    hasher.field(&object.0).number(offset);
    hasher.finish()
}

/// Identifies a frame outside of objects by its address.
pub(super) fn frame_outside(space: Space, address: u64) -> Id {
    let mut hasher = IdHasher::new("frame outside");
    hasher.number(space as u64).number(address);
    hasher.finish()
}

/// Identifies a stack by its frames.
pub(super) fn stack(frames: impl Iterator<Item = Id>) -> Id {
    let mut hasher = IdHasher::new("stack");
    frames.for_each(|frame| hasher.bytes(&frame.0));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_do_not_change() {
        let libc = Map::new(0x7000, 0x1000, 0, b"/lib/libc.so.6", None);
        let origin = IdHasher::new("origin").finish();
        let object = object(b"/lib/libc.so.6", Some(&[0xab; 20]), &libc, origin);
        assert_eq!(object.to_string(), "7bd8624abfaa7f9f9d405ae053b296a7");
        let frames = [frame(object, 0x1234), frame_outside(Space::User, 0x1234)];
        assert_eq!(stack(frames.into_iter()).to_string(), "b967c44253b1097360579752cb02392e");
    }

    #[test]
    fn objects_without_build_id_are_of_one_run_of_perf() {
        let map = Map::new(0x7000, 0x1000, 0, b"/bin/app", None);
        let object_id = |origin: &str, build_id| object(&map.filename, build_id, &map, IdHasher::new(origin).finish());
        assert_ne!(object_id("a", None), object_id("b", None));
        assert_eq!(object_id("a", Some(&[1][..])), object_id("b", Some(&[1])));
        assert_ne!(object_id("a", Some(&[1][..])), object_id("a", Some(&[2])));
    }

    #[test]
    fn fields_do_not_run_together() {
        let hash = |fields: &[&[u8]]| {
            let mut hasher = IdHasher::new("test");
            for field in fields {
                hasher.field(field);
            }
            hasher.finish()
        };
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
    }
}
