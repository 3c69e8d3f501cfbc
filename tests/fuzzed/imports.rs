//! Untrusted inputs other than recordings: JSON, PerfDataProto, jitdumps, archives.

use super::memory::assert_within_budget;
use super::plausible;
use super::record_count::RecordCount;
use allocation_counter::measure;
use arbitrary::{Result, Unstructured};
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::access::Access;
use perf_data::container::read::file::FileAttr;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::container::write::pipe;
use perf_data::stream::source::Source;
use perf_symbols::object::build_id_note::{self, Elf};
use perf_symbols::object::perf_map::MapFile;
use perfconv::bundle::unpack::{Members, extract};
use perfconv::formats::import::{Import, ImportOptions, import};
use perfconv::formats::{json as json_format, quipper as quipper_format};
use perfconv::rewrite::build_ids::known_build_ids::KnownBuildIds;
use perfconv::rewrite::framework::passes::Passes;
use perfconv::rewrite::jit::images::ImageOptions;
use perfconv::rewrite::jit::pass::JitPass;
use std::fs;
use std::path::Path;
use tar::{Builder, EntryType, Header as TarHeader};

/// Any bytes as JSON: one document or JSON Lines.
pub fn json(bytes: &[u8]) {
    import_any(bytes, json_format::import);
}

/// Any bytes as a PerfDataProto.
pub fn quipper(bytes: &[u8]) {
    import_any(bytes, quipper_format::import);
}

/// Any bytes as a PerfDataProto in its text form.
pub fn quipper_text(bytes: &[u8]) {
    import_any(bytes, quipper_format::import_text);
}

/// Any bytes as a file of known build IDs, and as an ELF file: reading reports a build ID of the file, none, or an error.
pub fn elf(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("program");
    fs::write(&path, bytes).expect("a temporary file");
    if let Ok(known) = KnownBuildIds::parse(&format!("file://{}", path.display())) {
        let lines = bytes.split(|&byte| byte == b'\n').count();
        assert!(known.len() <= lines, "{} build IDs in {lines} lines", known.len());
    }
    if let Ok(Elf::Id(id)) = build_id_note::read(&path) {
        assert!(
            bytes.windows(id.bytes().len()).any(|window| window == id.bytes()),
            "the file should contain the build ID"
        );
    }
}

/// Imports bytes. The result is an error, or a recording that is either readable or rejected.
fn import_any(bytes: &[u8], importer: Import) {
    let input = Input::Bytes { name: "fuzzed".to_owned(), bytes: bytes.to_vec().into() };
    let Ok(imported) = import(importer, input, &ImportOptions::default()) else { return };
    let Ok(source) = Source::open(imported.input(), ReadOptions::default()) else { return };
    let mut count = RecordCount::default();
    if let Ok((_, ledger)) = source.run(&mut count) {
        assert_eq!(count.0, ledger.entries().values().map(|entry| entry.read).sum::<u64>());
    }
}

/// Any bytes as the jitdump that a recording maps, and as a map file.
pub fn jitdump(bytes: &[u8]) {
    MapFile::read(&bytes.to_vec().into());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dump = dir.path().join("jit-1.dump");
    let dumped = if bytes.starts_with(&JitDumpHeader::MAGIC.to_le_bytes()) {
        bytes.to_vec()
    } else {
        // Prepend a valid header.
        [&b"DTiJ\x01\0\0\0\x28\0\0\0\x3e\0\0\0\0\0\0\0\x01\0\0\0"[..], &[0; 16], bytes].concat()
    };
    fs::write(&dump, dumped).expect("a temporary file");
    let (read, mut passes) = (ReadOptions::default(), Passes::default());
    let images = ImageOptions { dir: Some(dir.path().to_owned()), ..ImageOptions::default() };
    passes.push(JitPass::new(vec![dir.path().to_owned()], images, read.clone()));
    let input = Input::Bytes { name: "mapping".to_owned(), bytes: mapping().into() };
    let mut count = RecordCount::default();
    let image = dir.path().join("jit-1.so");
    match passes.run(input, &read, &mut count) {
        Ok(_) => {
            let id = build_id_note::read(&image).expect("the image should exist");
            assert!(matches!(id, Elf::Id(_)), "the image should have a build ID");
        }
        Err(_) => assert!(!image.exists(), "a rejected jitdump should leave no image"),
    }
}

/// A recording of a process that maps a jitdump.
fn mapping() -> Vec<u8> {
    let mut attr = Attr::read(&[0; 96], Endian::Little).expect("zeros should decode as an attr");
    attr.size = 96;
    attr.sample_type = SampleType::IP | SampleType::TID | SampleType::TIME;
    // Timestamps of jitdumps are of CLOCK_MONOTONIC.
    (attr.flags, attr.clockid) = (AttrFlags::USE_CLOCKID, 1);
    let mut bytes = pipe::header(Endian::Little).expect("writing to memory should succeed");
    let event = FileAttr { attr, ids: Vec::new() };
    bytes.extend(
        pipe::event(&event, Endian::Little).expect("writing to memory should succeed").expect("an event without ids"),
    );
    // MMAP: pid, tid, addr, len, pgoff, name.
    bytes.extend([1, 0, 0, 0, 2, 0, 56, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend([0x1000_u64, 0x1000, 0].into_iter().flat_map(u64::to_le_bytes));
    bytes.extend(b"/tmp/jit-1.dump\0");
    // SAMPLE: ip, pid, tid, time.
    bytes.extend([9, 0, 0, 0, 2, 0, 32, 0]);
    bytes.extend([0x2000, 1 | 1 << 32, 5_u64].into_iter().flat_map(u64::to_le_bytes));
    bytes
}

/// Any bytes as an archive, or an archive built from them: unpacking writes only to the cache and the recording's path, and no
/// link leads out of the cache.
pub fn archive(bytes: &[u8]) {
    let Ok(tar) = tar_of(bytes) else { return };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let cache = dir.path().join("cache");
    let mut extracted = None;
    let used = measure(|| extracted = Some(extract(&tar[..], "archive", &cache, Members::All, Access::default())));
    assert_within_budget(used, tar.len());
    let unpacked = extracted.expect("it was called").and_then(|extracted| extracted.put_in_place(dir.path(), false));
    let mut names: Vec<_> =
        entries(dir.path()).iter().map(|path| path.file_name().expect("a name").to_owned()).collect();
    names.sort();
    match unpacked {
        Ok(unpacked) => {
            assert_eq!(names.len(), 1 + usize::from(unpacked.recording.is_some()), "{names:?}");
            let root = cache.canonicalize().expect("it should exist");
            assert_confined(&root, &root);
        }
        Err(_) => assert!(names.is_empty(), "a rejected archive should leave nothing: {names:?}"),
    }
}

fn entries(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(dir).expect("the directory should be listable");
    entries.map(|entry| entry.expect("the directory should be listable").path()).collect()
}

/// Asserts that no link in a directory leads out of `root`, and that no temporary files are left.
fn assert_confined(dir: &Path, root: &Path) {
    for path in entries(dir) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(!name.starts_with(".perfconv-"), "temporary file {name} is left");
        let kind = fs::symlink_metadata(&path).expect("it should exist").file_type();
        if kind.is_dir() {
            assert_confined(&path, root);
        } else if kind.is_symlink() {
            // The target of a link may not exist.
            if let Ok(to) = path.canonicalize() {
                assert!(to.starts_with(root), "{} leads to {}", path.display(), to.display());
            }
        }
    }
}

/// Returns the bytes themselves, or an archive with entries built from them.
fn tar_of(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut from = Unstructured::new(bytes);
    if from.arbitrary::<bool>()? {
        return Ok(from.take_rest().to_vec());
    }
    let id = "0123456789abcdef0123456789abcdef01234567";
    let paths =
        ["perf.data", "bin/cat/ID/elf", "bin/cat/ID/debug", ".build-id/01/REST", "bin/cat/ID", "../x", "/x/ID/elf"];
    let path = |from: &mut Unstructured<'_>| -> Result<String> {
        let path = from.choose(&paths)?.replace("ID", id).replace("REST", &id[2..]);
        Ok(if from.ratio(1, 4)? { format!("{path}{}", from.choose(&["/elf", "/..", "/x", "0", "/./"])?) } else { path })
    };
    let mut tar = Builder::new(Vec::new());
    for _ in 0..from.int_in_range(1..=6)? {
        let (path, mut header) = (path(&mut from)?, TarHeader::new_gnu());
        let kinds = [EntryType::Regular, EntryType::Symlink, EntryType::Directory, EntryType::Link, EntryType::Fifo];
        let kind = *from.choose(&kinds)?;
        header.set_entry_type(kind);
        let to = if from.arbitrary()? { format!("../../bin/cat/{id}") } else { from.arbitrary::<&str>()?.to_owned() };
        let content: &[u8] = if kind.is_file() { from.choose(plausible::NAMES.as_slice())?.as_bytes() } else { b"" };
        let put = |field: &mut [u8], text: &str| {
            let len = text.len().min(field.len());
            field[..len].copy_from_slice(&text.as_bytes()[..len]);
        };
        put(&mut header.as_old_mut().name, &path);
        put(&mut header.as_old_mut().linkname, &to);
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content).expect("writing to memory should succeed");
    }
    Ok(tar.into_inner().expect("writing to memory should succeed"))
}
