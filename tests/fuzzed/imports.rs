//! Inputs other than recordings: JSON, PerfDataProto, jitdumps, archives. None is trusted.

use super::plausible;
use arbitrary::{Result, Unstructured};
use perfconv::abi::Endian;
use perfconv::abi::attr::Attr;
use perfconv::abi::attr_flags::AttrFlags;
use perfconv::abi::jitdump::header::Header;
use perfconv::abi::sample_type::SampleType;
use perfconv::bundle::unpack::extract;
use perfconv::container::read::file::FileAttr;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::container::write::pipe;
use perfconv::formats::import::{Import, ImportOptions, import};
use perfconv::formats::{json as json_format, quipper as quipper_format};
use perfconv::rewrite::build_ids::elf::{self, Elf};
use perfconv::rewrite::build_ids::known::KnownBuildIds;
use perfconv::rewrite::jit::images::ImageOptions;
use perfconv::rewrite::jit::map_file::MapFile;
use perfconv::rewrite::jit::pass::JitPass;
use perfconv::rewrite::passes::Passes;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use std::fs;
use std::path::Path;
use tar::{Builder, EntryType, Header as TarHeader};

/// Any bytes as JSON, in one document or in lines.
pub fn json(bytes: &[u8]) {
    remade(bytes, json_format::import);
}

/// Any bytes as a PerfDataProto.
pub fn quipper(bytes: &[u8]) {
    remade(bytes, quipper_format::import);
}

/// Any bytes as a PerfDataProto in its text form.
pub fn quipper_text(bytes: &[u8]) {
    remade(bytes, quipper_format::import_text);
}

/// Any bytes as a file of known build ids, and as a program: it has a build id, or none, or is none.
pub fn elf(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("program");
    fs::write(&path, bytes).expect("there is room for a file");
    if let Ok(known) = KnownBuildIds::parse(&format!("file://{}", path.display())) {
        let lines = bytes.split(|&byte| byte == b'\n').count();
        assert!(known.len() <= lines, "{} build ids in {lines} lines", known.len());
    }
    if let Ok(Elf::Id(id)) = elf::read(&path) {
        assert!(bytes.windows(id.bytes().len()).any(|window| window == id.bytes()), "the build id is in the file");
    }
}

/// What is told is refused, or made again as a recording that can be read or refused in turn.
fn remade(bytes: &[u8], how: Import) {
    let input = Input::Bytes { name: "told".to_owned(), bytes: bytes.to_vec().into() };
    let Ok(remade) = import(how, input, &ImportOptions::default()) else { return };
    let Ok(source) = Source::open(remade.input(), ReadOptions::default()) else { return };
    let mut all = All::default();
    if let Ok((_, ledger)) = source.run(&mut all) {
        assert_eq!(all.0, ledger.entries().values().map(|entry| entry.read).sum::<u64>());
    }
}

/// Counts what it is given.
#[derive(Default)]
struct All(u64);

impl Sink for All {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// Any bytes as the jitdump of a process that a recording tells of, and as a map file.
pub fn jitdump(bytes: &[u8]) {
    MapFile::read(&bytes.to_vec().into());
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let dump = folder.path().join("jit-1.dump");
    let dumped = if bytes.starts_with(&Header::MAGIC.to_le_bytes()) {
        bytes.to_vec()
    } else {
        // What is behind a sound header.
        [&b"DTiJ\x01\0\0\0\x28\0\0\0\x3e\0\0\0\0\0\0\0\x01\0\0\0"[..], &[0; 16], bytes].concat()
    };
    fs::write(&dump, dumped).expect("there is room for a file");
    let (read, mut passes) = (ReadOptions::default(), Passes::default());
    let images = ImageOptions { dir: Some(folder.path().to_owned()), overwrite: false };
    passes.push(JitPass::new(vec![folder.path().to_owned()], images, read.clone()));
    let input = Input::Bytes { name: "mapping".to_owned(), bytes: mapping().into() };
    let mut all = All::default();
    let image = folder.path().join("jit-1.so");
    match passes.run(input, &read, &mut all) {
        Ok(_) => {
            let id = elf::read(&image).expect("the image is there");
            assert!(matches!(id, Elf::Id(_)), "the image has a build id");
        }
        Err(_) => assert!(!image.exists(), "nothing is made of what is refused"),
    }
}

/// A recording of a process that maps a jitdump.
fn mapping() -> Vec<u8> {
    let mut attr = Attr::read(&[0; 96], Endian::Little).expect("zeros are an attr");
    attr.size = 96;
    attr.sample_type = SampleType::IP | SampleType::TID | SampleType::TIME;
    // The times of jitdumps are of CLOCK_MONOTONIC.
    (attr.flags, attr.clockid) = (AttrFlags::USE_CLOCKID, 1);
    let mut bytes = pipe::header(Endian::Little).expect("it goes to memory");
    let event = FileAttr { attr, ids: Vec::new() };
    bytes.extend(pipe::event(&event, Endian::Little).expect("it goes to memory").expect("it has no ids"));
    // MMAP: pid, tid, addr, len, pgoff, name.
    bytes.extend([1, 0, 0, 0, 2, 0, 56, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([0x1000_u64, 0x1000, 0].into_iter().flat_map(u64::to_le_bytes));
    bytes.extend(b"/tmp/jit-1.dump\0");
    // SAMPLE: ip, pid, tid, time.
    bytes.extend([9, 0, 0, 0, 2, 0, 32, 0]);
    bytes.extend([0x2000, 1 | 1 << 32, 5_u64].into_iter().flat_map(u64::to_le_bytes));
    bytes
}

/// Any bytes as an archive, or one that is made of them: whatever is in it, nothing is written but into the cache and to the place
/// of the recording, and no link leads out.
pub fn archive(bytes: &[u8]) {
    let Ok(tar) = tar_of(bytes) else { return };
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let cache = folder.path().join("cache");
    let unpacked =
        extract(&tar[..], "archive", &cache, false).and_then(|extracted| extracted.put_in_place(folder.path(), false));
    let mut names: Vec<_> =
        entries(folder.path()).iter().map(|path| path.file_name().expect("a name").to_owned()).collect();
    names.sort();
    match unpacked {
        Ok(unpacked) => {
            assert_eq!(names.len(), 1 + usize::from(unpacked.recording.is_some()), "{names:?}");
            let root = cache.canonicalize().expect("it is there");
            stays_inside(&root, &root);
        }
        Err(_) => assert!(names.is_empty(), "{names:?} are left of what is refused"),
    }
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder can be listed");
    entries.map(|entry| entry.expect("a folder can be listed").path()).collect()
}

/// Nothing in a folder leads out of another one, and nothing of ours is left.
fn stays_inside(folder: &Path, root: &Path) {
    for path in entries(folder) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(!name.starts_with(".perfconv-"), "{name} is left");
        let kind = fs::symlink_metadata(&path).expect("it is there").file_type();
        if kind.is_dir() {
            stays_inside(&path, root);
        } else if kind.is_symlink() {
            // What a link leads to need not be there.
            if let Ok(to) = path.canonicalize() {
                assert!(to.starts_with(root), "{} leads to {}", path.display(), to.display());
            }
        }
    }
}

/// Bytes as they are, or entries made of them.
fn tar_of(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut from = Unstructured::new(bytes);
    if from.arbitrary::<bool>()? {
        return Ok(from.take_rest().to_vec());
    }
    let id = "0123456789abcdef0123456789abcdef01234567";
    let paths =
        ["perf.data", "bin/cat/ID/elf", "bin/cat/ID/debug", ".build-id/01/REST", "bin/cat/ID", "../x", "/x/ID/elf"];
    let path = |from: &mut Unstructured<'_>| -> Result<String> {
        let made = from.choose(&paths)?.replace("ID", id).replace("REST", &id[2..]);
        Ok(if from.ratio(1, 4)? { format!("{made}{}", from.choose(&["/elf", "/..", "/x", "0", "/./"])?) } else { made })
    };
    let mut tar = Builder::new(Vec::new());
    for _ in 0..from.int_in_range(1..=6)? {
        let (path, mut header) = (path(&mut from)?, TarHeader::new_gnu());
        let kinds = [EntryType::Regular, EntryType::Symlink, EntryType::Directory, EntryType::Link, EntryType::Fifo];
        let kind = *from.choose(&kinds)?;
        header.set_entry_type(kind);
        let to = if from.arbitrary()? { format!("../../bin/cat/{id}") } else { from.arbitrary::<&str>()?.to_owned() };
        let content: &[u8] = if kind.is_file() { from.choose(plausible::NAMES.as_slice())?.as_bytes() } else { b"" };
        let put = |place: &mut [u8], text: &str| {
            let len = text.len().min(place.len());
            place[..len].copy_from_slice(&text.as_bytes()[..len]);
        };
        put(&mut header.as_old_mut().name, &path);
        put(&mut header.as_old_mut().linkname, &to);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content).expect("it goes to memory");
    }
    Ok(tar.into_inner().expect("it goes to memory"))
}
