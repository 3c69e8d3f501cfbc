//! Decompression of sections and files: zlib, zstd, xz.

use bytes::Bytes;
use object::elf::{CompressionHeader32, CompressionHeader64, ELFCOMPRESS_ZLIB, ELFCOMPRESS_ZSTD};
use object::read::elf::CompressionHeader;
use object::{Endianness, pod};
use std::io::Read;

/// Maximum expansion factor of a section: the limit of zlib.
const RATIO: u64 = 1032;

/// Maximum size of all that is inflated of a file with this many bytes. Compilers' sections and kernel modules have 3 to 6 times
/// the size; tables that are built from them need the rest of the budget of an object (`docs/robustness.md`).
pub(super) fn limit(file: usize) -> u64 {
    (file as u64).saturating_mul(10).saturating_add(32 << 20)
}

/// Memory limit for xz, in KiB: the largest dictionary of `xz -9`, with some room.
const XZ_MEMORY: u32 = 128 << 10;

/// The size that a section claims to have when it is inflated; 0 if it has no valid header.
pub(super) fn claimed_size(raw: &[u8], is_old_form: bool, is_64: bool, endian: Endianness) -> u64 {
    let size = if is_old_form {
        raw.strip_prefix(b"ZLIB").and_then(|rest| rest.first_chunk()).map(|size| u64::from_be_bytes(*size))
    } else {
        header(raw, is_64, endian).map(|(_, size, _)| size)
    };
    // A size that no data can inflate to is rejected before memory is allocated.
    size.filter(|&size| size <= (raw.len() as u64).saturating_mul(RATIO)).unwrap_or(0)
}

fn header(raw: &[u8], is_64: bool, endian: Endianness) -> Option<(object::elf::CompressionType, u64, &[u8])> {
    Some(if is_64 {
        let (header, data) = pod::from_bytes::<CompressionHeader64<Endianness>>(raw).ok()?;
        (header.ch_type(endian), header.ch_size(endian), data)
    } else {
        let (header, data) = pod::from_bytes::<CompressionHeader32<Endianness>>(raw).ok()?;
        (header.ch_type(endian), u64::from(header.ch_size(endian)), data)
    })
}

/// Inflates a section with a compression header.
pub(super) fn section(raw: &[u8], is_64: bool, endian: Endianness) -> Option<Vec<u8>> {
    let (kind, size, data) = header(raw, is_64, endian)?;
    match kind {
        ELFCOMPRESS_ZLIB => zlib(data, size),
        ELFCOMPRESS_ZSTD => read(zstd::Decoder::new(data).ok()?, data, Some(size), u64::MAX),
        _ => None,
    }
}

/// Inflates a `.zdebug_` section: "ZLIB", the inflated size as 8 big-endian bytes, and the data.
pub(super) fn old_form(raw: &[u8]) -> Option<Vec<u8>> {
    let (size, data) = raw.strip_prefix(b"ZLIB")?.split_first_chunk::<8>()?;
    zlib(data, u64::from_be_bytes(*size))
}

fn zlib(data: &[u8], size: u64) -> Option<Vec<u8>> {
    read(flate2::read::ZlibDecoder::new(data), data, Some(size), u64::MAX)
}

/// Decodes xz, the format of `.gnu_debugdata` sections, to at most `limit` bytes.
pub(super) fn xz(data: &[u8], limit: u64) -> Option<Vec<u8>> {
    read(lzma_rust2::XzReader::new_mem_limit(data, true, XZ_MEMORY), data, None, limit)
}

/// Decompresses a kernel module if it is compressed, to at most `limit` bytes.
pub(super) fn module(bytes: Bytes, limit: u64) -> Bytes {
    let inflated = match &*bytes {
        [0x1f, 0x8b, ..] => read(flate2::read::MultiGzDecoder::new(&*bytes), &bytes, None, limit),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            zstd::Decoder::new(&*bytes).ok().and_then(|file| read(file, &bytes, None, limit))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => xz(&bytes, limit),
        _ => return bytes,
    };
    inflated.map_or(bytes, Bytes::from)
}

/// Reads a stream to its end; `None` if its size differs from `size`, if that is known, or exceeds the limit.
fn read(stream: impl Read, packed: &[u8], size: Option<u64>, limit: u64) -> Option<Vec<u8>> {
    let limit = (packed.len() as u64).saturating_mul(RATIO).min(limit);
    if size.is_some_and(|size| size > limit) {
        return None;
    }
    let mut inflated = Vec::new();
    inflated.try_reserve_exact(usize::try_from(size.unwrap_or(0)).ok()?).ok()?;
    // One byte more shows that there is more.
    stream.take(size.unwrap_or(limit) + 1).read_to_end(&mut inflated).ok()?;
    let len = inflated.len() as u64;
    size.map_or(len <= limit, |size| size == len).then_some(inflated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn zlib_of(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn with_header(kind: u32, size: u64, data: &[u8]) -> Vec<u8> {
        [&kind.to_le_bytes()[..], &[0; 4], &size.to_le_bytes(), &1u64.to_le_bytes(), data].concat()
    }

    #[test]
    fn sections_of_each_kind() {
        let text = b"some text, some text".repeat(100);
        let little = Endianness::Little;
        let zlib = with_header(1, text.len() as u64, &zlib_of(&text));
        assert_eq!(section(&zlib, true, little).as_deref(), Some(&text[..]));
        let zstd = with_header(2, text.len() as u64, &zstd::encode_all(&text[..], 1).unwrap());
        assert_eq!(section(&zstd, true, little).as_deref(), Some(&text[..]));
        let old = [b"ZLIB", &(text.len() as u64).to_be_bytes()[..], &zlib_of(&text)].concat();
        assert_eq!(old_form(&old).as_deref(), Some(&text[..]));
    }

    #[test]
    fn sizes_that_cannot_be_are_rejected() {
        let little = Endianness::Little;
        let packed = zlib_of(b"text");
        for size in [0, 3, 5, 1 << 30, u64::MAX] {
            assert_eq!(section(&with_header(1, size, &packed), true, little), None, "{size}");
        }
        assert_eq!(section(&with_header(9, 4, &packed), true, little), None);
        assert_eq!(section(&[0; 5], true, little), None);
    }
}
