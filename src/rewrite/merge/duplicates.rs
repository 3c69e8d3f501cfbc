//! Detects recordings that are merged twice.

use super::member::Member;
use perf_data::abi::record::RecordType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::{Input, Opened};
use std::path::Path;

/// Returns a warning for each recording with samples whose content equals that of an earlier one. Contents are compared only if
/// their sizes are equal, up to the first difference.
pub(crate) fn warnings(members: &[Member], read: &ReadOptions) -> Vec<String> {
    let mut warnings = Vec::new();
    for (number, member) in members.iter().enumerate() {
        if member.scan.counts.count(RecordType::SAMPLE) == 0 {
            continue;
        }
        let is_equal = |earlier: &&Member| has_equal_content(earlier, member, read);
        if let Some((first, earlier)) = (1..).zip(&members[..number]).find(|(_, earlier)| is_equal(earlier)) {
            warnings.push(format!(
                "input {} ({}) has the same content as input {first} ({}), so its samples are counted twice; merge it once",
                number + 1,
                member.name,
                earlier.name
            ));
        }
    }
    warnings
}

fn has_equal_content(one: &Member, other: &Member, read: &ReadOptions) -> bool {
    match (&one.input, &other.input) {
        (Input::Bytes { bytes: one, .. }, Input::Bytes { bytes: other, .. }) => one == other,
        (Input::Path(_), Input::Path(_)) => {
            let (one, other) = (&one.meta.files, &other.meta.files);
            let mut files = one.iter().map(Path::new).zip(other.iter().map(Path::new));
            one.len() == other.len() && files.all(|(one, other)| has_equal_bytes(one, other, read))
        }
        _ => false,
    }
}

/// Whether two files of directory recordings have the same name and bytes.
fn has_equal_bytes(one: &Path, other: &Path, read: &ReadOptions) -> bool {
    let contents = [one, other].map(|file| match Input::Path(file.to_owned()).open(read) {
        Ok(Opened::Bytes(bytes)) => Some(bytes),
        _ => None,
    });
    let [Some(first), Some(second)] = &contents else { return false };
    one.file_name() == other.file_name() && first.equals(second)
}
