//! The identifying strings of a recording, and where anonymized output may still have them.

use crate::common::program::{perfconv, run};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::abi::feature::tracing_data::{ByteOrder, TraceFile, TracingData};
use perf_data::abi::hex::from_hex;
use perfconv::rewrite::anonymize::events::{is_common, is_raw};
use perfconv::rewrite::anonymize::vocabulary;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The minimum length of printable runs in binary data to search for.
pub(crate) const MIN_RUN_LEN: usize = 8;

/// JSON fields whose strings are perf's own constants, or numbers.
pub(crate) const DEFINED: [&str; 22] = [
    "record",
    "feature",
    "files",
    "adds_features",
    "perfconv",
    "container",
    "endian",
    "cpumode",
    "misc",
    "flags",
    "kind",
    "sample_type",
    "read_format",
    "branch_sample_type",
    "aux_action",
    "abi",
    "arrays",
    "scale",
    "config",
    "words",
    "version",
    "transaction",
];

/// JSON fields of binary data.
pub(crate) const BINARY: [&str; 14] = [
    "data", "raw", "old", "new", "padding", "tail", "gap", "bytes", "inside", "before", "behind", "payload", "fill",
    "pad",
];

/// JSON fields that anonymization preserves by default.
pub(crate) const PRESERVED_FIELDS: [&str; 2] = ["build_id", "scale"];

/// Features that anonymization preserves by default.
pub(crate) const PRESERVED_FEATURES: [&str; 9] = [
    "CPUDESC",
    "CPUID",
    "ARCH",
    "CPU_TOPOLOGY",
    "NUMA_TOPOLOGY",
    "CACHE",
    "CPU_PMU_CAPS",
    "PMU_CAPS",
    "CPU_DOMAIN_INFO",
];

/// The strings and addresses in a recording.
#[derive(Default)]
pub(crate) struct Contents {
    /// Words, by field.
    pub(crate) fields: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// Printable runs in binary data.
    pub(crate) pieces: BTreeSet<Vec<u8>>,
    /// Strings that are preserved.
    pub(crate) preserved: BTreeSet<Vec<u8>>,
    /// User-space addresses high enough to identify a mapping.
    pub(crate) addresses: BTreeSet<u64>,
    /// Cookies of deferred call chains.
    pub(crate) cookies: BTreeSet<u64>,
}

/// The context marker that precedes such a cookie.
pub(crate) const DEFERRED: &str = "0xfffffffffffffd80";

impl Contents {
    pub(crate) fn read(json: &[u8]) -> Self {
        let mut contents = Self::default();
        for line in json.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let object: Value = serde_json::from_slice(line).expect("a line of JSON");
            let name = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let feature = name("feature");
            let path = if feature.is_empty() { name("record") } else { feature.clone() };
            contents.value(&path, "", &object, PRESERVED_FEATURES.contains(&&*feature));
            // The cookie of a deferred call chain is stored among the addresses.
            let ips = object["body"]["callchain"]["ips"].as_array().into_iter().flatten();
            let cookies = ips.skip_while(|ip| **ip != DEFERRED).skip(1).take(1).filter_map(Value::as_str);
            contents.cookies.extend(cookies.filter_map(|ip| u64::from_str_radix(ip.strip_prefix("0x")?, 16).ok()));
        }
        let cookies = std::mem::take(&mut contents.cookies);
        contents.addresses.retain(|address| !cookies.contains(address));
        contents
    }

    pub(crate) fn value(&mut self, path: &str, key: &str, value: &Value, preserved: bool) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    // Padded text is an object with a `text` member.
                    let (path, key) =
                        if name == "text" { (path.to_owned(), key) } else { (format!("{path}.{name}"), &**name) };
                    self.value(&path, key, value, preserved);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(path, key, item, preserved)),
            Value::String(text) => self.text(path, key, text, preserved),
            _ => {}
        }
    }

    pub(crate) fn text(&mut self, path: &str, key: &str, text: &str, preserved: bool) {
        if let Some(address) = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
            let is_address = ["addr", "ip", "ips", "from", "to", "pgoff", "regs", "bp_addr"].contains(&key);
            if is_address && (1 << 40..1 << 47).contains(&address) {
                self.addresses.insert(address);
            }
        } else if let Some(tag) = from_hex(text.as_bytes()).filter(|tag| key == "tag" && tag.len() == 8) {
            if tag == [0; 8] {
                return;
            }
            self.fields.entry(path.to_owned()).or_default().insert(tag);
        } else if BINARY.contains(&key) && !path.ends_with("name.bytes") {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            let is_text = |byte: &u8| byte.is_ascii_graphic();
            let runs = bytes.chunk_by(|a, b| is_text(a) == is_text(b));
            self.pieces.extend(runs.filter(|run| run.len() >= MIN_RUN_LEN && is_text(&run[0])).map(<[u8]>::to_vec));
        } else if preserved || PRESERVED_FIELDS.contains(&key) {
            self.preserved.insert(text.as_bytes().to_vec());
        } else if !DEFINED.contains(&key) && !path.starts_with("STAT_CONFIG") && !text.is_empty() {
            let is_event = ["name", "strings"].contains(&key);
            let events = text
                .split(',')
                .filter(|event| is_event && (is_common(event.as_bytes(), true) || is_raw(event.as_bytes())));
            self.preserved.extend(events.map(|event| event.as_bytes().to_vec()));
            let words = self.fields.entry(path.to_owned()).or_default();
            words.extend(words_of(text.as_bytes()).map(<[u8]>::to_vec));
        }
    }
}

/// Splits a string into words at slashes, blanks and punctuation.
pub(crate) fn words_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| b"/ \t\n:;,=()[]{}\"".contains(byte)).filter(|word| !word.is_empty())
}

/// The vocabulary: words that every recording may keep.
pub(crate) fn vocabulary() -> Vec<&'static [u8]> {
    use vocabulary::*;
    let lists = [
        MAPS,
        MAP_STARTS,
        FILE_ENDS,
        COMMS,
        SYMBOLS,
        SYMBOL_STARTS,
        EVENTS,
        CACHES,
        CACHE_EVENTS,
        UNNAMED,
        PMUS,
        TERMS,
        SYSTEMS,
        COMMANDS,
        FLAGS,
        PLAIN_OPTIONS,
        EVENT_OPTIONS,
        PID_OPTIONS,
        IDENTIFYING_OPTIONS,
        VALUES,
        UNITS,
        ARCHES,
        TOPOLOGY,
        &["name: ID: header_page header_event Dtracing0.6", DELETED],
    ];
    let words = lists.into_iter().flatten().map(|word| word.as_bytes());
    words.chain(minimal_formats().map(|text| &*text.leak())).collect()
}

/// The text that tracepoint formats keep: the common fields, and header_page.
pub(crate) fn minimal_formats() -> impl Iterator<Item = Vec<u8>> {
    let format = TraceFile::from(&TracepointFormat::new("", 0)).text;
    let header_page = |long_size| TracingData::new(ByteOrder(0), long_size, 0x1000, Vec::new()).files.header_page.text;
    [format, header_page(4), header_page(8)].into_iter()
}

/// Whether a word may be preserved: a word or part of the vocabulary, a number, or part of a preserved string.
pub(crate) fn may_be_preserved(word: &[u8], vocabulary: &[&[u8]], preserved: &BTreeSet<Vec<u8>>) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    word.iter().all(|byte| byte.is_ascii_digit() || b".-+".contains(byte))
        || word.strip_prefix(b"0x").is_some_and(is_hex)
        || vocabulary.iter().any(|known| memmem::find(known, word).is_some())
        || preserved.iter().any(|known| memmem::find(known, word).is_some())
}

pub(crate) fn json(path: &Path) -> Result<Vec<u8>, String> {
    let run = run(perfconv().arg(path).args(["-t", "jsonl", "-q", "-o", "-"]));
    if run.status == 0 { Ok(run.stdout) } else { Err(run.stderr) }
}

/// Writes a key file.
pub(crate) fn key(dir: &Path, byte: u8) -> PathBuf {
    let path = dir.join(format!("key-{byte}"));
    fs::write(&path, [byte; 32]).unwrap();
    path
}

pub(crate) fn lossy(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}
