//! Fields that the schema derives from strings: MD5 prefixes, and root paths.

use md5::{Digest, Md5};

/// First 8 bytes of a string's MD5, as a big-endian number.
pub(super) fn md5_prefix(text: &[u8]) -> u64 {
    let digest: [u8; 16] = Md5::digest(text).into();
    digest.first_chunk().map_or(0, |prefix| u64::from_be_bytes(*prefix))
}

/// Prefixes of names that serve as root path, although they are not directories.
const PSEUDO_ROOTS: [&[u8]; 2] = [b"[anon:", b"/memfd:"];

/// The first two directories of a path at most; empty for relative paths.
pub(super) fn root_path(path: &[u8]) -> &[u8] {
    if let Some(prefix) = PSEUDO_ROOTS.into_iter().find(|prefix| path.starts_with(prefix)) {
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
        // Names in /tmp are random.
        (Some(first), _) if &path[..first] == b"/tmp" => &path[..first],
        (Some(first), None) => &path[..first],
        (Some(_), Some(second)) => &path[..second],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn md5_prefixes_match_quipper() {
        assert_eq!(md5_prefix(b""), 15_284_527_576_400_310_788);
        assert_eq!(md5_prefix(b"perf-exec"), 6_375_561_754_421_997_525);
    }

    #[test]
    fn root_paths() {
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
