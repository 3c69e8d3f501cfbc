//! What the schema has beside texts: the beginning of their MD5, and the folders of a path.

use md5::{Digest, Md5};

/// First 8 bytes of a text's MD5, as a big-endian number.
pub fn md5_prefix(text: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(text).into();
    digest.first_chunk().map_or(0, |prefix| u64::from_be_bytes(*prefix))
}

/// Prefixes of file names that stand for a folder, though they are none.
const NO_FOLDERS: [&[u8]; 2] = [b"[anon:", b"/memfd:"];

/// The first folders of a path, two at most; nothing of what is no absolute path.
pub fn root_path(path: &[u8]) -> &[u8] {
    if let Some(prefix) = NO_FOLDERS.into_iter().find(|prefix| path.starts_with(prefix)) {
        return prefix;
    }
    if path.starts_with(b"//") {
        return &path[..2];
    }
    if path.first() != Some(&b'/') {
        return &[];
    }
    let mut slashes = path.iter().enumerate().skip(1).filter(|&(_, &byte)| byte == b'/').map(|(at, _)| at);
    match (slashes.next(), slashes.next()) {
        (None, _) => &path[..1],
        // What is in this folder goes by names that are made up each time.
        (Some(first), _) if &path[..first] == b"/tmp" => &path[..first],
        (Some(first), None) => &path[..first],
        (Some(_), Some(second)) => &path[..second],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_schema() {
        assert_eq!(md5_prefix(b""), 15_284_527_576_400_310_788);
        assert_eq!(md5_prefix(b"perf-exec"), 6_375_561_754_421_997_525);
    }

    #[test]
    fn folders_of_paths() {
        let cases: [(&[u8], &[u8]); 10] = [
            (b"/usr/lib/x/y", b"/usr/lib"),
            (b"/a/b/c", b"/a/b"),
            (b"/a/b", b"/a"),
            (b"/a", b"/"),
            (b"/tmp/x/y", b"/tmp"),
            (b"[anon:heap]", b"[anon:"),
            (b"/memfd:x/y/z", b"/memfd:"),
            (b"//anon", b"//"),
            (b"[vdso]", b""),
            (b"", b""),
        ];
        for (path, root) in cases {
            assert_eq!(root_path(path), root, "{}", String::from_utf8_lossy(path));
        }
    }
}
