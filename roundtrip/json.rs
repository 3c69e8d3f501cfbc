//! Converts every recording to JSON and back, to the same bytes: as JSON Lines and as one document; and, for recordings without
//! unknown data, from the decoded fields alone.

use crate::containers::open;
use crate::recordings;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::source::Source;
use perf_data::stream::write::verbatim::Verbatim;
use perfconv::conversion;
use perfconv::formats::framework::converter::ConvertOptions;
use perfconv::formats::framework::output::RecordFormat;
use perfconv::formats::import::ImportOptions;
use perfconv::formats::json;
use perfconv::formats::json::{JsonDocument, JsonLines};
use perfconv::rewrite::framework::passes::Passes;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The files of a recording.
fn files(source: Source) -> Result<Vec<Vec<u8>>, String> {
    let names = source.meta().files.clone();
    let mut copy = Verbatim::new(names.iter().map(|_| Vec::new()).collect());
    source.run(&mut copy).map_err(|e| e.to_string())?;
    Ok(copy.into_inner())
}

/// Imports JSON and returns the files of the recording.
fn import_files(mut json: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let options = ImportOptions::default();
    let imported = json::import(&mut json, "json", &options).map_err(|e| e.to_string())?;
    match imported.input() {
        Input::Bytes { bytes, .. } => Ok(vec![bytes.to_vec()]),
        input => files(Source::open(input, options.read).map_err(|e| e.to_string())?),
    }
}

fn originals(path: &Path) -> Option<Vec<Vec<u8>>> {
    let names = open(path).ok()?.meta().files.clone();
    // A recording that is compressed as a whole is exported uncompressed.
    let is_plain = |bytes: &Vec<u8>| !bytes.starts_with(&[0x1f, 0x8b]) && !bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let files: Vec<_> = names.iter().map(|name| fs::read(name).unwrap_or_default()).collect();
    if is_plain(&files[0]) { Some(files) } else { files_of(path) }
}

fn files_of(path: &Path) -> Option<Vec<Vec<u8>>> {
    files(open(path).ok()?).ok()
}

/// Exports a recording to JSON.
fn export(path: &Path, format: &dyn RecordFormat) -> perfconv::Result<Vec<u8>> {
    let (mut out, read) = (Vec::new(), ReadOptions::default());
    conversion::convert_records(
        Input::Path(path.to_owned()),
        &read,
        &ConvertOptions::default(),
        &mut Passes::default(),
        format,
        &mut out,
    )?;
    Ok(out)
}

#[test]
fn json_round_trip_preserves_every_recording() {
    let (mut compared, mut bytes, mut json_bytes, mut unreadable, mut differing) = (0, 0, 0, 0, Vec::new());
    let mut changes = [0; 3];
    for path in recordings::all() {
        let (Ok(lines), Some(originals)) = (export(&path, &JsonLines::default()), originals(&path)) else {
            unreadable += 1;
            continue;
        };
        compared += 1;
        bytes += originals.iter().map(Vec::len).sum::<usize>();
        json_bytes += lines.len();
        for (count, mark) in changes.iter_mut().zip(["{\"before\":", "\"behind\":", "\"raw\":"]) {
            *count += usize::from(lines.windows(mark.len()).any(|window| window == mark.as_bytes()));
        }
        let document = export(&path, &JsonDocument::default()).expect("it should still be readable");
        for (form, json) in [("lines", &lines), ("a document", &document)] {
            match import_files(json) {
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
    note!(
        "{compared} recordings of {bytes} bytes exported to {json_bytes} bytes of JSON and imported again; {unreadable} unreadable"
    );
    let [before, behind, raw] = changes;
    note!(
        "other layouts than perf's: {before} with bytes before the records, {behind} after them; {raw} with unknown records"
    );
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
    let enough = recordings::enough("JSON");
    assert!(compared >= enough, "compared only {compared} recordings, expected {enough}");
}

/// Removes members that hold undecoded bytes. Sorts the members of objects alphabetically, as a side effect.
fn without_opaque_bytes(lines: &str) -> String {
    let stripped = lines.lines().map(|line| {
        let mut object: Value = serde_json::from_str(line).expect("valid JSON");
        strip(&mut object);
        object.to_string()
    });
    stripped.collect::<Vec<_>>().join("\n")
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            ["raw", "tail", "padding"].iter().for_each(|name| drop(members.remove(*name)));
            members.values_mut().for_each(strip);
        }
        Value::Array(values) => values.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Whether a line has a `tail` or `padding` of only zeros, which the export should omit.
fn has_redundant_zeros(line: &str) -> bool {
    fn opaque<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| match value {
                Value::String(text) if matches!(&**name, "tail" | "padding") => found.push(text),
                value => opaque(value, found),
            }),
            Value::Array(values) => values.iter().for_each(|value| opaque(value, found)),
            _ => {}
        }
    }
    if !["\"tail\":", "\"padding\":"].iter().any(|mark| line.contains(mark)) {
        return false;
    }
    let object: Value = serde_json::from_str(line).expect("valid JSON");
    let mut found = Vec::new();
    opaque(&object, &mut found);
    // Longer ones are exported even if they are zeros.
    found.iter().any(|base64| base64.trim_matches(['A', '=']).is_empty() && base64.len() < 4096 / 3 * 4)
}

#[test]
fn decoded_fields_alone_restore_known_data() {
    let (mut compared, mut with_opaque, mut differing) = (0, 0, Vec::new());
    for path in recordings::all() {
        let (Ok(lines), Some(originals)) = (export(&path, &JsonLines::default()), originals(&path)) else { continue };
        let lines = String::from_utf8(lines).expect("JSON should be UTF-8");
        // Samples have a field of this name that is decoded: the payload of a tracepoint.
        let lines = lines.replace("\"raw\":{", "\"payload_of_sample\":{");
        if ["\"raw\":\"", "\"tail\":", "\"padding\":"].iter().any(|mark| lines.contains(mark)) {
            with_opaque += 1;
            if let Some(line) = lines.lines().find(|line| has_redundant_zeros(line)) {
                differing.push(format!("{}: exported as bytes: {line:.300}", path.display()));
            }
            continue;
        }
        compared += 1;
        let stripped = without_opaque_bytes(&lines).replace("\"payload_of_sample\":{", "\"raw\":{");
        match import_files(stripped.as_bytes()) {
            Ok(files) if files == originals => {}
            Ok(_) => differing.push(format!("{}: other bytes", path.display())),
            Err(e) => differing.push(format!("{}: {e}", path.display())),
        }
    }
    note!("{compared} recordings imported from decoded fields alone, reordered; {with_opaque} have undecoded bytes");
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
    let enough = recordings::enough("fields alone") * 3 / 5;
    assert!(compared >= enough, "compared only {compared} recordings, expected {enough}");
}
