//! Writes every recording back: unchanged, to the same bytes; and to each container, byte order and compression and back, to the
//! bytes of its uncompressed form.

use crate::recordings;
use perf_data::abi::Endian;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::container::write::frames::{FrameKind, FrameOptions};
use perf_data::error::Result;
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perf_data::stream::write::pipe::ToPipe;
use perf_data::stream::write::verbatim::Verbatim;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

pub(crate) fn open(path: &Path) -> Result<Source> {
    Source::open(Input::Path(path.to_owned()), ReadOptions::default())
}

/// Returns the recordings with at least one readable record, for a test.
fn readable(test: &str) -> Vec<PathBuf> {
    let mut all = recordings::all();
    all.retain(|path| open(path).and_then(|source| source.run(&mut Verbatim::new(sinks(&source_files(path))))).is_ok());
    let (read, enough) = (all.len(), recordings::enough(test));
    assert!(read >= enough, "only {read} recordings were readable, expected {enough}");
    all
}

fn source_files(path: &Path) -> Vec<String> {
    open(path).map(|source| source.meta().files.clone()).unwrap_or_default()
}

fn sinks(files: &[String]) -> Vec<Vec<u8>> {
    files.iter().map(|_| Vec::new()).collect()
}

#[test]
fn verbatim_copy_preserves_all_bytes() {
    let (mut files, mut bytes, mut differing) = (0, 0, Vec::new());
    for path in readable("verbatim copies") {
        let source = open(&path).expect("it should still be readable");
        let names = source.meta().files.clone();
        let mut copy = Verbatim::new(sinks(&names));
        source.run(&mut copy).expect("it should still be readable");
        for (name, copy) in names.iter().zip(copy.into_inner()) {
            let original = fs::read(name).expect("it should still be readable");
            (files, bytes) = (files + 1, bytes + original.len());
            if original != copy {
                differing.push(format!("{name}: {} bytes, not {}", copy.len(), original.len()));
            }
        }
    }
    note!("{files} files, {bytes} bytes copied");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Encodes a recording as an uncompressed file in a byte order.
pub(crate) fn to_file(source: Source, endian: Endian) -> Result<Vec<u8>> {
    to_file_of(source, Form { frames: CompressedFrames::Plain, endian: Some(endian), ..Form::default() })
}

fn to_file_of(source: Source, form: Form) -> Result<Vec<u8>> {
    let mut file = ToFile::new(Cursor::new(Vec::new()), form);
    source.run(&mut file)?;
    Ok(file.into_inner().map(Cursor::into_inner).unwrap_or_default())
}

fn to_pipe(source: Source, endian: Endian) -> Result<Vec<u8>> {
    to_pipe_of(source, Form { frames: CompressedFrames::Plain, endian: Some(endian), ..Form::default() })
}

fn to_pipe_of(source: Source, form: Form) -> Result<Vec<u8>> {
    let mut pipe = ToPipe::new(Vec::new(), form);
    source.run(&mut pipe)?;
    Ok(pipe.into_inner())
}

fn reopen(bytes: Vec<u8>) -> Result<Source> {
    Source::open(Input::Bytes { name: "written".into(), bytes: bytes.into() }, ReadOptions::default())
}

fn other(endian: Endian) -> Endian {
    if endian == Endian::Little { Endian::Big } else { Endian::Little }
}

/// Describes which conversions of a recording did not preserve it, if any.
fn differing_conversions(path: &Path, conversions: Result<[(&str, bool); 3]>) -> Option<String> {
    let differing = match conversions {
        Ok(conversions) => {
            conversions.iter().filter(|(_, same)| !same).map(|(form, _)| *form).collect::<Vec<_>>().join("; ")
        }
        Err(e) => e.to_string(),
    };
    (!differing.is_empty()).then(|| format!("{}: {differing}", path.display()))
}

#[test]
fn byte_order_and_container_conversions_are_reversible() {
    let (mut compared, mut differing) = (0, Vec::new());
    for path in readable("byte orders and containers") {
        let plain = |endian| to_file(open(&path)?, endian);
        let result = (|| {
            let source = open(&path)?;
            let (endian, container) = (source.meta().endian, source.meta().container);
            let plain_here = plain(endian)?;
            let swapped_back = to_file(reopen(plain(other(endian))?)?, endian)?;
            let rewritten = to_file(reopen(plain_here.clone())?, endian)?;
            let pipe = to_pipe(source, endian)?;
            let pipe_swapped_back = to_pipe(reopen(to_pipe(open(&path)?, other(endian))?)?, endian)?;
            let conversions = [
                ("uncompressed, rewritten", rewritten == plain_here || container == Container::Pipe),
                ("to the other byte order and back", swapped_back == rewritten),
                ("as a pipe, to the other byte order and back", pipe_swapped_back == pipe),
            ];
            Ok(conversions)
        })();
        compared += 1;
        differing.extend(differing_conversions(&path, result));
    }
    note!("{compared} recordings converted to the other byte order and back, as files and pipes");
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn recompressed_recordings_decompress_to_the_same_bytes() {
    let (mut compared, mut sizes, mut differing) = (0, [0; 3], Vec::new());
    for path in readable("compression") {
        let compress = |kind, endian| {
            let frames = CompressedFrames::Compressed(FrameOptions { kind, level: 1 });
            Form { frames, endian: Some(endian), ..Form::default() }
        };
        let result = (|| {
            let endian = open(&path)?.meta().endian;
            let (plain, pipe) = (to_file(open(&path)?, endian)?, to_pipe(open(&path)?, endian)?);
            let old = to_file_of(open(&path)?, compress(FrameKind::Compressed, endian))?;
            let new = to_file_of(open(&path)?, compress(FrameKind::Compressed2, other(endian)))?;
            let new_pipe = to_pipe_of(open(&path)?, compress(FrameKind::Compressed2, endian))?;
            let conversions = [
                ("COMPRESSED", to_file(reopen(old.clone())?, endian)? == to_file(reopen(plain.clone())?, endian)?),
                (
                    "COMPRESSED2 in the other byte order",
                    to_file(reopen(new.clone())?, endian)? == to_file(reopen(plain.clone())?, endian)?,
                ),
                ("pipe with COMPRESSED2", to_pipe(reopen(new_pipe)?, endian)? == pipe),
            ];
            for (sum, len) in sizes.iter_mut().zip([plain.len(), old.len(), new.len()]) {
                *sum += len;
            }
            Ok(conversions)
        })();
        compared += 1;
        differing.extend(differing_conversions(&path, result));
    }
    let [plain, old, new] = sizes;
    note!("{compared} recordings recompressed, {plain} bytes to {old} (COMPRESSED) and {new} (COMPRESSED2)");
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
}
