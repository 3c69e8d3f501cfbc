//! Locates jitdumps and `perf-PID.map` files.

use std::path::{Path, PathBuf};

/// The process ID in the name of a jitdump: `jit-PID.dump`.
pub fn dump_pid(path: &[u8]) -> Option<u32> {
    numbered(path, b"jit-", b".dump")
}

/// The process ID in the name of a map file: `perf-PID.map`.
pub fn map_file_pid(path: &[u8]) -> Option<u32> {
    numbered(path, b"perf-", b".map")
}

fn numbered(path: &[u8], prefix: &[u8], suffix: &[u8]) -> Option<u32> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let number = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    // `parse` would accept a plus sign.
    let is_number = number.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(number).ok()?.parse().ok()).flatten()
}

/// Locates a recorded file: in one of the user's paths if there are any, otherwise at its recorded path.
pub fn locate(candidates: &[PathBuf], recorded: &Path) -> Option<PathBuf> {
    let name = recorded.file_name()?;
    let in_candidate = |candidate: &PathBuf| {
        if candidate.is_dir() {
            let below = candidate.join(recorded.strip_prefix("/").unwrap_or(recorded));
            [candidate.join(name), below].into_iter().find(|path| path.is_file())
        } else {
            (candidate.file_name() == Some(name) && candidate.is_file()).then(|| candidate.clone())
        }
    };
    if candidates.is_empty() {
        return recorded.is_file().then(|| recorded.to_owned());
    }
    candidates.iter().find_map(in_candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn parses_process_ids_in_file_names() {
        assert_eq!(dump_pid(b"/tmp/.debug/jit/x/jit-17.dump"), Some(17));
        assert_eq!(map_file_pid(b"perf-17.map"), Some(17));
        for name in [&b"/tmp/jit-.dump"[..], b"/tmp/jit-+7.dump", b"/tmp/jit-99999999999.dump", b"/jit-1.dump/x", b""] {
            assert_eq!(dump_pid(name), None, "{}", String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn locates_moved_files_in_the_users_paths() {
        let directory = tempfile::tempdir().unwrap();
        let (root, recorded) = (directory.path().to_owned(), Path::new("/no/such/jit-17.dump"));
        assert_eq!((locate(&[], recorded), locate(std::slice::from_ref(&root), recorded)), (None, None));
        let below = root.join("no/such");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("jit-17.dump"), "").unwrap();
        assert_eq!(locate(std::slice::from_ref(&root), recorded), Some(below.join("jit-17.dump")));
        fs::write(root.join("jit-17.dump"), "").unwrap();
        assert_eq!(locate(std::slice::from_ref(&root), recorded), Some(root.join("jit-17.dump")));
        assert_eq!(locate(&[below.join("jit-17.dump")], recorded), Some(below.join("jit-17.dump")));
        assert_eq!(locate(&[below.join("jit-18.dump")], recorded), None);
    }
}
