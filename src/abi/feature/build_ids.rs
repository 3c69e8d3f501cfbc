//! Feature BUILD_ID.

use crate::abi::record::build_id::BuildId;
use crate::abi::record::{Misc, RecordHeader};
use crate::abi::{self, Endian};

/// The entries of the section, each a record like HEADER_BUILD_ID (with a type that perf leaves 0), up to the first that
/// does not fit.
pub fn read(mut bytes: &[u8], endian: Endian) -> Vec<(Misc, BuildId)> {
    let mut entries = Vec::new();
    while let Some(header) = RecordHeader::peek(bytes, endian) {
        let Some((entry, rest)) = bytes.split_at_checked(header.size.into()) else { break };
        let Some(body) = entry.get(RecordHeader::SIZE..) else { break };
        let Ok((build_id, _)) = abi::parse::<BuildId>(body, endian, ()) else { break };
        entries.push((header.misc, build_id));
        bytes = rest;
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_at_the_first_entry_that_does_not_fit() {
        let mut entry = vec![0, 0, 0, 0, 2, 0x80, 44, 0, 0xff, 0xff, 0xff, 0xff];
        entry.extend([9; 20]);
        entry.extend([16, 0, 0, 0]);
        entry.extend(b"/bin/ls\0");
        let mut bytes = entry.clone();
        bytes.extend(&entry[..30]);
        let entries = read(&bytes, Endian::Little);
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].1.id(entries[0].0), entries[0].1.filename.text()), (&[9; 16][..], &b"/bin/ls"[..]));
        assert!(read(&[0; 16], Endian::Little).is_empty(), "a size of 0 ends it");
    }
}
