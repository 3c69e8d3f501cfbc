//! Files of the repository with symbols.

use std::path::{Path, PathBuf};

pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip").join(path)
}
