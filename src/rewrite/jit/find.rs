//! Where jitdumps and `perf-PID.map` files are.

use std::path::{Path, PathBuf};

/// The process that a jitdump is of, by its name: `jit-PID.dump`.
pub fn dump_pid(path: &[u8]) -> Option<u32> {
    numbered(path, b"jit-", b".dump")
}

/// The process that a map file is of, by its name: `perf-PID.map`.
pub fn map_file_pid(path: &[u8]) -> Option<u32> {
    numbered(path, b"perf-", b".map")
}

fn numbered(path: &[u8], prefix: &[u8], suffix: &[u8]) -> Option<u32> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let number = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    // A plus sign is none of the kernel's.
    let is_number = number.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(number).ok()?.parse().ok()).flatten()
}

/// Where a file is that a recording names: in one of the places that the user tells, else where it was.
pub fn locate(places: &[PathBuf], recorded: &Path) -> Option<PathBuf> {
    let name = recorded.file_name()?;
    let in_place = |place: &PathBuf| {
        if place.is_dir() {
            let below = place.join(recorded.strip_prefix("/").unwrap_or(recorded));
            [place.join(name), below].into_iter().find(|path| path.is_file())
        } else {
            (place.file_name() == Some(name) && place.is_file()).then(|| place.clone())
        }
    };
    if places.is_empty() {
        return recorded.is_file().then(|| recorded.to_owned());
    }
    places.iter().find_map(in_place)
}

/// Whether a map is of memory that code may be compiled into.
pub fn is_for_code(name: &[u8]) -> bool {
    // The last is how .NET maps what it writes as executable too.
    let prefixes = [&b"//anon"[..], b"/anon_hugepage", b"/dev/zero", b"[anon:", b"/memfd:doublemapper"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_known_by_their_names() {
        assert_eq!(dump_pid(b"/tmp/.debug/jit/x/jit-17.dump"), Some(17));
        assert_eq!(map_file_pid(b"perf-17.map"), Some(17));
        for name in [&b"/tmp/jit-.dump"[..], b"/tmp/jit-+7.dump", b"/tmp/jit-99999999999.dump", b"/jit-1.dump/x", b""] {
            assert_eq!(dump_pid(name), None, "{}", String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn files_that_were_moved_are_found_where_the_user_says() {
        let folder = tempfile::tempdir().unwrap();
        let (place, recorded) = (folder.path().to_owned(), Path::new("/no/such/jit-17.dump"));
        assert_eq!((locate(&[], recorded), locate(std::slice::from_ref(&place), recorded)), (None, None));
        let below = place.join("no/such");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("jit-17.dump"), "").unwrap();
        assert_eq!(locate(std::slice::from_ref(&place), recorded), Some(below.join("jit-17.dump")));
        fs::write(place.join("jit-17.dump"), "").unwrap();
        assert_eq!(locate(std::slice::from_ref(&place), recorded), Some(place.join("jit-17.dump")));
        assert_eq!(locate(&[below.join("jit-17.dump")], recorded), Some(below.join("jit-17.dump")));
        assert_eq!(locate(&[below.join("jit-18.dump")], recorded), None);
    }
}
