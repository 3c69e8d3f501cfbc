//! Every recording goes through JSON and back, to the same bytes: as JSON Lines and as one document; and where it holds
//! nothing that is unknown, without the bytes that no field tells.

use crate::containers::open;
use crate::recordings;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::convert;
use perfconv::formats::carry::CarryOptions;
use perfconv::formats::json;
use perfconv::stream::source::Source;
use perfconv::stream::write::verbatim::Verbatim;
use std::fs;
use std::path::Path;

/// The files of a recording.
fn files(source: Source) -> Result<Vec<Vec<u8>>, String> {
    let names = source.meta().files.clone();
    let mut copy = Verbatim::new(names.iter().map(|_| Vec::new()).collect());
    source.run(&mut copy).map_err(|e| e.to_string())?;
    Ok(copy.into_inner())
}

/// The files of the recording that JSON tells.
fn remade(mut json: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let options = ReadOptions::default();
    let remade = json::import(&mut json, "json", &options).map_err(|e| e.to_string())?;
    match remade.input() {
        Input::Bytes { bytes, .. } => Ok(vec![bytes.to_vec()]),
        input => files(Source::open(input, options).map_err(|e| e.to_string())?),
    }
}

fn originals(path: &Path) -> Option<Vec<Vec<u8>>> {
    let names = open(path).ok()?.meta().files.clone();
    // A recording that is compressed as a whole is told as what is in it.
    let is_plain = |bytes: &Vec<u8>| !bytes.starts_with(&[0x1f, 0x8b]) && !bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let files: Vec<_> = names.iter().map(|name| fs::read(name).unwrap_or_default()).collect();
    if is_plain(&files[0]) { Some(files) } else { files_of(path) }
}

fn files_of(path: &Path) -> Option<Vec<Vec<u8>>> {
    files(open(path).ok()?).ok()
}

#[test]
fn every_recording_comes_back_from_json_as_the_same_bytes() {
    let (mut compared, mut bytes, mut told, mut unreadable, mut differing) = (0, 0, 0, 0, Vec::new());
    let mut changes = [0; 3];
    for path in recordings::all() {
        let mut lines = Vec::new();
        let written = open(&path)
            .and_then(|source| convert::carry(source, &CarryOptions::default(), json::begin_lines, &mut lines));
        let (Ok(_), Some(originals)) = (written, originals(&path)) else {
            unreadable += 1;
            continue;
        };
        compared += 1;
        bytes += originals.iter().map(Vec::len).sum::<usize>();
        told += lines.len();
        for (count, mark) in changes.iter_mut().zip(["{\"before\":", "\"behind\":", "\"raw\":"]) {
            *count += usize::from(lines.windows(mark.len()).any(|window| window == mark.as_bytes()));
        }
        let mut document = Vec::new();
        let source = open(&path).expect("it was readable");
        convert::carry(source, &CarryOptions::default(), json::begin_document, &mut document).expect("it was readable");
        for (form, json) in [("lines", &lines), ("a document", &document)] {
            match remade(json) {
                Ok(files) if files == originals => {}
                Ok(files) => {
                    let (a, b) = (&files[0], &originals[0]);
                    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
                    let (a, b) = (a.len(), b.len());
                    differing.push(format!("{}: {form}: at {at:#x}, {a} bytes of {b}", path.display()));
                }
                Err(e) => differing.push(format!("{}: {form}: {e}", path.display())),
            }
        }
    }
    println!("{compared} recordings of {bytes} bytes told in {told} bytes and made again; {unreadable} cannot be read");
    let [before, behind, raw] = changes;
    println!("laid out unlike perf's: {before} before the records, {behind} behind them; {raw} with what is unknown");
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
    let enough = recordings::enough("JSON");
    assert!(compared >= enough, "only {compared} recordings of {enough} were compared");
}
