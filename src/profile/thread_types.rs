//! Types of threads that users define, for the label `thread_type`.

use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use std::fs;
use std::path::Path;

/// Reads a file of thread IDs and thread types, one pair on each line.
///
/// # Errors
/// If the file cannot be read, or a line is invalid.
pub fn read_thread_types(path: &Path) -> Result<HashMap<u32, String>> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(Error::io(&name, "cannot read"))?;
    let mut types = HashMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let pair = line.trim().split_once(char::is_whitespace);
        let Some((tid, kind)) = pair.and_then(|(tid, kind)| Some((tid.parse().ok()?, kind.trim().to_owned()))) else {
            let problem = format!("line {}: expected a thread ID and a thread type, found '{line}'", index + 1);
            return Err(Error::input(name, None, problem));
        };
        types.insert(tid, kind);
    }
    Ok(types)
}
