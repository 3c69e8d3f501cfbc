//! Contents of a synthetic ELF image.

use super::lines::Line;
use bytes::Bytes;
use hashbrown::HashMap;
use md5::{Digest, Md5};
use perf_data::abi::Endian;

/// Names of at least this size are hashed separately for the build ID, once for all functions that share them.
const SHARED_NAME: usize = 4 << 10;

/// Identity of shared bytes: as long as they are alive, equal addresses mean equal contents.
pub(super) fn identity(bytes: &Bytes) -> (usize, usize) {
    (bytes.as_ptr() as usize, bytes.len())
}

/// Machine of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageTarget {
    /// `e_machine` of ELF, such as 62 for x86-64.
    pub machine: u16,
    /// Whether addresses have 8 bytes rather than 4.
    pub is_64: bool,
    /// Byte order.
    pub endian: Endian,
}

/// A function. [`ImageFunction::default`] is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageFunction {
    /// Name, without NULs.
    pub name: Bytes,
    /// Size in bytes.
    pub size: u64,
    /// Machine code of `size` bytes; empty if unknown.
    pub code: Bytes,
    /// Source lines.
    pub lines: Vec<Line>,
    /// Its part of `.eh_frame`, encoded as if it followed the code at the next multiple of the address size.
    pub eh_frame: Bytes,
}

/// Functions at distinct addresses. Addresses in the image equal offsets in the file, so a mapping of a function at its offset
/// resolves in every reader.
///
/// ```
/// use perf_data::abi::Endian;
/// use perf_symbols::object::image::{Image, ImageFunction, ImageTarget};
///
/// let mut image = Image::new(ImageTarget { machine: 62, is_64: true, endian: Endian::Little });
/// let address = image.push(ImageFunction { name: "main".into(), size: 16, ..ImageFunction::default() });
/// let mut file = Vec::new();
/// image.write(&mut file)?;
/// assert_eq!((address, &file[..4]), (Some(0x1000), &b"\x7fELF"[..]));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    /// Machine of the image.
    pub target: ImageTarget,
    /// Build ID of the file whose symbols this image provides; otherwise the image has its own.
    pub stands_for: Option<Bytes>,
    functions: Vec<(u64, ImageFunction)>,
    end: u64,
}

impl Image {
    /// The lowest address: the headers are below.
    pub const START: u64 = 0x1000;

    /// Alignment of appended functions.
    const ALIGN: u64 = 16;

    /// Upper bound of addresses: beyond it, sums in readers overflow.
    const END: u64 = 1 << 62;

    /// Creates an image without functions.
    pub fn new(target: ImageTarget) -> Self {
        Self { target, stands_for: None, functions: Vec::new(), end: Self::START }
    }

    /// Appends a function; returns its address. `None` if there is no room or the code is not `size` bytes.
    pub fn push(&mut self, function: ImageFunction) -> Option<u64> {
        let address = self.end.next_multiple_of(Self::ALIGN);
        self.offset(address, function)
    }

    /// Places a function at an address. Functions may overlap only if they have no code. `None` if there is no room, or the code
    /// is not `size` bytes.
    pub fn offset(&mut self, address: u64, function: ImageFunction) -> Option<u64> {
        let end = address.checked_add(function.size).filter(|&end| end <= self.limit() && address >= Self::START)?;
        let is_whole = function.code.is_empty() || function.code.len() as u64 == function.size;
        let is_free = function.code.is_empty() || address >= self.end;
        if !is_whole || !is_free {
            return None;
        }
        self.end = self.end.max(end);
        self.functions.push((address, function));
        Some(address)
    }

    /// Extends the image to this address. `None` if there is no room.
    pub fn reach(&mut self, end: u64) -> Option<()> {
        let end = Some(end).filter(|&end| end <= self.limit())?;
        self.end = self.end.max(end);
        Some(())
    }

    fn limit(&self) -> u64 {
        if self.target.is_64 { Self::END } else { u64::from(u32::MAX / 2) }
    }

    /// The functions with their addresses, in order of insertion.
    pub fn functions(&self) -> &[(u64, ImageFunction)] {
        &self.functions
    }

    /// Address after the last function.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the code of any function is known. Otherwise the file contains none, and is small.
    pub fn has_code(&self) -> bool {
        self.functions.iter().any(|(_, function)| !function.code.is_empty())
    }

    /// The build ID: the MD5 of the contents.
    pub fn build_id(&self) -> [u8; 16] {
        let mut sum = Md5::new();
        sum.update(self.target.machine.to_le_bytes());
        sum.update([u8::from(self.target.is_64), u8::from(self.target.endian == Endian::Big)]);
        sum.update(self.end.to_le_bytes());
        let mut long = HashMap::new();
        let mut add_name = |sum: &mut Md5, name: &Bytes| match name.len() {
            ..SHARED_NAME => sum.update(name),
            _ => sum.update(long.entry(identity(name)).or_insert_with(|| Md5::digest(name))),
        };
        for (address, ImageFunction { name, size, code, lines, eh_frame }) in &self.functions {
            for number in
                [*address, *size, name.len() as u64, code.len() as u64, lines.len() as u64, eh_frame.len() as u64]
            {
                sum.update(number.to_le_bytes());
            }
            add_name(&mut sum, name);
            [code, eh_frame].into_iter().for_each(|bytes| sum.update(bytes));
            for Line { offset, line, file } in lines {
                sum.update(offset.to_le_bytes());
                sum.update(line.to_le_bytes());
                add_name(&mut sum, file);
                sum.update([0]);
            }
        }
        sum.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(is_64: bool) -> Image {
        Image::new(ImageTarget { machine: 62, is_64, endian: Endian::Little })
    }

    fn function(size: u64, code: &'static [u8]) -> ImageFunction {
        ImageFunction { name: "f".into(), size, code: code.into(), ..ImageFunction::default() }
    }

    #[test]
    fn functions_with_code_do_not_overlap() {
        let mut image = image(true);
        assert_eq!(image.push(function(3, b"abc")), Some(0x1000));
        assert_eq!(image.push(function(1, b"d")), Some(0x1010));
        assert_eq!(image.push(function(2, b"d")), None, "the code is shorter");
        assert_eq!(image.offset(0x1002, function(1, b"d")), None, "there is code already");
        assert_eq!(image.offset(0x1002, function(1, b"")), Some(0x1002));
        assert_eq!(image.offset(0xfff, function(1, b"")), None);
        assert_eq!((image.end(), image.has_code()), (0x1011, true));
    }

    #[test]
    fn rejects_functions_that_are_too_large() {
        for size in [u64::MAX, u64::MAX - 0x1000, 1 << 62] {
            assert_eq!(image(true).push(function(size, b"")), None);
        }
        assert_eq!(image(false).push(function(1 << 32, b"")), None);
        assert_eq!(image(true).reach(u64::MAX), None);
    }

    #[test]
    fn equal_images_have_equal_build_ids() {
        let with = |name: &'static str, line| {
            let mut image = image(true);
            let lines = vec![Line { offset: 0, line, file: "a.js".into() }];
            image.push(ImageFunction { name: name.into(), size: 3, lines, ..ImageFunction::default() });
            image.build_id()
        };
        assert_eq!(with("f", 1), with("f", 1));
        assert!(with("f", 1) != with("g", 1) && with("f", 1) != with("f", 2));
    }

    #[test]
    fn shared_names_are_hashed_and_stored_once() {
        let [file, name] = [b'f', b'n'].map(|letter| Bytes::from(vec![letter; 1 << 20]));
        let of = |name: Bytes, last: Bytes| {
            let mut image = image(true);
            for offset in 0..50_000 {
                let other = Line { offset: 2 * offset + 1, line: 2, file: "a.js".into() };
                let lines = vec![Line { offset: 2 * offset, line: 1, file: file.clone() }, other];
                image.push(ImageFunction { name: name.clone(), size: 1 << 20, lines, ..ImageFunction::default() });
                image.push(ImageFunction { name: "f".into(), size: 1, ..ImageFunction::default() });
            }
            let lines = vec![Line { offset: 0, line: 1, file: last }];
            image.push(ImageFunction { name: "f".into(), size: 1, lines, ..ImageFunction::default() });
            let mut written = Vec::new();
            image.write(&mut written).unwrap();
            (image.build_id(), written.len() < 16 << 20)
        };
        let same = of(name.clone(), file.clone());
        assert!(same.1 && same == of(name.clone(), Bytes::from(file.to_vec())));
        assert!(same != of(name, Bytes::from(vec![b'x'; 1 << 20])));
    }
}
