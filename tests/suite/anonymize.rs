//! Anonymization: no identifying string of a recording, in any field, occurs in the anonymized output.

use crate::suite::files::{Recording, corpus, fixture, has_corpus, share};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use perf_data::abi::attr::Attr;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::tracepoint_format::TracepointFormat;
use perf_data::abi::feature::tracing_data::{ByteOrder, TraceFile, TracingData};
use perf_data::abi::hex::from_hex;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use perfconv::rewrite::anonymize::events::{is_common, is_raw};
use perfconv::rewrite::anonymize::vocabulary;
use perfconv::rewrite::header::Header;
use perfconv::rewrite::pass::Pass;
use perfconv::rewrite::passes::Passes;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Arguments;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// The minimum length of strings to search for; shorter ones are compared field by field.
const MIN_LEN: usize = 5;
/// The minimum length of printable runs in binary data to search for.
const MIN_RUN_LEN: usize = 8;

/// JSON fields whose strings are perf's own constants, or numbers.
const DEFINED: [&str; 22] = [
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
const BINARY: [&str; 14] = [
    "data", "raw", "old", "new", "padding", "tail", "gap", "bytes", "inside", "before", "behind", "payload", "fill",
    "pad",
];
/// JSON fields that anonymization preserves by default.
const PRESERVED_FIELDS: [&str; 2] = ["build_id", "scale"];
/// Features that anonymization preserves by default.
const PRESERVED_FEATURES: [&str; 9] = [
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
struct Contents {
    /// Words, by field.
    fields: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// Printable runs in binary data.
    pieces: BTreeSet<Vec<u8>>,
    /// Strings that are preserved.
    preserved: BTreeSet<Vec<u8>>,
    /// User-space addresses high enough to identify a mapping.
    addresses: BTreeSet<u64>,
    /// Cookies of deferred call chains.
    cookies: BTreeSet<u64>,
}

/// The context marker that precedes such a cookie.
const DEFERRED: &str = "0xfffffffffffffd80";

impl Contents {
    fn read(json: &[u8]) -> Self {
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

    fn value(&mut self, path: &str, key: &str, value: &Value, preserved: bool) {
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

    fn text(&mut self, path: &str, key: &str, text: &str, preserved: bool) {
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
fn words_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| b"/ \t\n:;,=()[]{}\"".contains(byte)).filter(|word| !word.is_empty())
}

/// The vocabulary: words that every recording may keep.
fn vocabulary() -> Vec<&'static [u8]> {
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
fn minimal_formats() -> impl Iterator<Item = Vec<u8>> {
    let format = TraceFile::from(&TracepointFormat::new("", 0)).text;
    let header_page = |long_size| TracingData::new(ByteOrder(0), long_size, 0x1000, Vec::new()).files.header_page.text;
    [format, header_page(4), header_page(8)].into_iter()
}

/// Whether a word may be preserved: a word or part of the vocabulary, a number, or part of a preserved string.
fn may_be_preserved(word: &[u8], vocabulary: &[&[u8]], preserved: &BTreeSet<Vec<u8>>) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    word.iter().all(|byte| byte.is_ascii_digit() || b".-+".contains(byte))
        || word.strip_prefix(b"0x").is_some_and(is_hex)
        || vocabulary.iter().any(|known| memmem::find(known, word).is_some())
        || preserved.iter().any(|known| memmem::find(known, word).is_some())
}

/// Reads all bytes of a recording, of all files of a directory.
fn bytes(path: &Path) -> Vec<u8> {
    if !path.is_dir() {
        return fs::read(path).expect("the recording should be readable");
    }
    let mut files: Vec<_> =
        fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().flat_map(|file| bytes(file)).collect()
}

fn rewrite(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

fn json(path: &Path) -> Result<Vec<u8>, String> {
    let run = run(perfconv().arg(path).args(["-t", "jsonl", "-q", "-o", "-"]));
    if run.status == 0 { Ok(run.stdout) } else { Err(run.stderr) }
}

/// Writes a key file.
fn key(dir: &Path, byte: u8) -> PathBuf {
    let path = dir.join(format!("key-{byte}"));
    fs::write(&path, [byte; 32]).unwrap();
    path
}

/// The strings of a recording that no anonymized output may contain, of at least the minimum length.
pub(super) fn secrets(recording: &Path) -> BTreeSet<Vec<u8>> {
    let contents = Contents::read(&json(recording).unwrap());
    let vocabulary = vocabulary();
    let words = contents.fields.values().flatten().filter(|word| word.len() >= MIN_LEN).chain(&contents.pieces);
    words.filter(|word| !may_be_preserved(word, &vocabulary, &contents.preserved)).cloned().collect()
}

/// Results of searching a recording and its anonymized output.
#[derive(Default)]
struct Scan {
    /// Number of strings and printable runs searched for.
    strings: usize,
    /// Number of shorter strings compared field by field.
    shorter: usize,
    addresses: usize,
    /// Words that may be preserved.
    preserved: BTreeSet<String>,
    /// Failures.
    failures: Vec<String>,
}

fn lossy(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

fn scan(recording: &Recording) -> Result<Scan, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (plain, anonymous) = (dir.path().join("plain"), dir.path().join("anonymous"));
    rewrite(&recording.path, &plain, &["--decompress"])?;
    let before = Contents::read(&json(&recording.path)?);
    let key = key(dir.path(), 7);
    rewrite(&recording.path, &anonymous, &["--anonymize", "--key", key.to_str().unwrap()])
        .map_err(|error| format!("cannot be anonymized: {error}"))?;
    let after = Contents::read(&json(&anonymous)?);
    let (original, output) = (bytes(&plain), bytes(&anonymous));
    let mut scan = Scan::default();

    let vocabulary = vocabulary();
    let preserved = &before.preserved;
    let pieces = before.pieces.iter().map(Vec::as_slice);
    let mut strings: BTreeSet<&[u8]> =
        pieces.filter(|piece| !may_be_preserved(piece, &vocabulary, preserved)).collect();
    let words_after: Vec<_> = after.fields.values().flatten().chain(&after.pieces).collect();
    for (path, words) in &before.fields {
        for word in words {
            if may_be_preserved(word, &vocabulary, preserved) {
                scan.preserved.insert(lossy(word));
            } else {
                if after.fields.get(path).is_some_and(|after| after.contains(word)) {
                    scan.failures.push(format!("{path} still contains {}", lossy(word)));
                }
                scan.shorter += usize::from(word.len() < MIN_LEN);
                strings.extend((word.len() >= MIN_LEN).then_some(&word[..]));
            }
        }
    }
    for &word in &strings {
        scan.strings += 1;
        let finder = memmem::Finder::new(word);
        if finder.find(&original).is_none() && !before.pieces.contains(word) {
            scan.failures.push(format!("{} should occur in the original", lossy(word)));
        }
        if finder.find(&output).is_some() || words_after.iter().any(|contents| finder.find(contents).is_some()) {
            scan.failures.push(format!("{} still occurs", lossy(word)));
        }
    }
    for &address in &before.addresses {
        scan.addresses += 1;
        let [little, big] = [address.to_le_bytes(), address.to_be_bytes()];
        let is_in = |bytes: &[u8]| memmem::find(bytes, &little).is_some() || memmem::find(bytes, &big).is_some();
        if !is_in(&original) {
            scan.failures.push(format!("{address:#x} should occur in the original"));
        }
        if is_in(&output) {
            scan.failures.push(format!("{address:#x} still occurs"));
        }
    }
    Ok(scan)
}

#[test]
fn anonymized_output_contains_no_string_or_address_of_the_recording() {
    let all = share(4);
    let (mut files, mut strings, mut shorter, mut addresses) = (0, 0, 0, 0);
    let (mut preserved, mut skipped, mut failures) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for (recording, scan) in all.iter().zip(for_each(&all, scan)) {
        match scan {
            Ok(scan) => {
                files += 1;
                (strings, shorter, addresses) =
                    (strings + scan.strings, shorter + scan.shorter, addresses + scan.addresses);
                preserved.extend(scan.preserved);
                failures.extend(scan.failures.into_iter().map(|what| format!("{}: {what}", recording.name)));
            }
            Err(error) if error.contains("cannot be anonymized") => {
                failures.push(format!("{}: {error}", recording.name))
            }
            Err(error) => {
                let reason =
                    error.lines().next().unwrap_or_default().rsplit(": ").next().unwrap_or_default().to_owned();
                *skipped.entry(reason).or_insert(0) += 1;
            }
        }
    }
    say(format_args!(
        "{files} of {} recordings: searched for {strings} strings and {addresses} addresses, compared {shorter} shorter strings field by field",
        all.len()
    ));
    say(format_args!(
        "vocabulary and preserved strings, not searched for: {}",
        preserved.into_iter().collect::<Vec<_>>().join(" ")
    ));
    skipped.iter().for_each(|(reason, count)| say(format_args!("skipped {count}: {reason}")));
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    let (enough, many) = if has_corpus("anonymize") { (100, 5000) } else { (20, 500) };
    assert!(files >= enough && strings >= many && addresses >= many / 5, "too few strings or addresses");
}

/// The time of a sample and the symbols of its stack, as `perf script` prints them.
type ScriptSample = (String, Vec<String>);

fn script(path: &Path, home: &Path) -> Option<Vec<ScriptSample>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "--no-itrace", "-F", "time,ip,sym,symoff", "-i"]).arg(path);
    let run = run_other(perf.env("HOME", home).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS"));
    let (text, mut samples) = (String::from_utf8_lossy(&run.stdout).into_owned(), Vec::<ScriptSample>::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (time, frame) = match line.split_once(": ").or(line.split_once(':').filter(|(_, rest)| rest.is_empty())) {
            Some((time, frame)) if time.contains('.') && !time.contains(' ') => (Some(time), frame.trim()),
            _ => (None, line),
        };
        samples.extend(time.map(|time| (time.to_owned(), Vec::new())));
        let symbol = frame.split_once(' ').map_or("", |(_, symbol)| symbol.trim());
        if !frame.is_empty() {
            samples.last_mut()?.1.push(symbol.to_owned());
        }
    }
    (run.status == 0 && !samples.is_empty()).then_some(samples)
}

/// The identifying names that perf prints for a recording: files, host name, command line.
fn names_by_perf(path: &Path) -> BTreeSet<Vec<u8>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--header", "--no-inline", "--no-itrace", "-F", "ip,dso", "-i"]).arg(path);
    let text = run_other(perf.env("LC_ALL", "C")).stdout;
    let mut names = BTreeSet::new();
    for line in text.split(|&byte| byte == b'\n') {
        let header = [&b"# hostname : "[..], b"# cmdline : "].into_iter().find_map(|start| line.strip_prefix(start));
        let file = line
            .strip_suffix(b")")
            .and_then(|line| line.iter().rposition(|&byte| byte == b'(').map(|at| &line[at + 1..]));
        // perf invents file names for JIT code, and prints placeholders where it has no name.
        let is_placeholder = file.is_some_and(|file| {
            file == b"null" || file.starts_with(b"/tmp/perf-") || !line.starts_with(b" ") && !line.starts_with(b"\t")
        });
        let file = file.filter(|_| !is_placeholder);
        let header = header.filter(|header| *header != b"(null)");
        names.extend(header.or(file).map(<[u8]>::to_vec));
    }
    names
}

/// A home directory with perf's build ID cache: perf finds symbols of cached files by build ID, whatever their names. perf 6.1
/// computes wrong addresses if it finds installed debug information without the program.
struct Cache {
    home: TempDir,
    added: Mutex<BTreeSet<PathBuf>>,
}

impl Cache {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let mut perf = with_time_limit("perf");
        perf.args(["record", "-q", "-o"]).arg(home.path().join("perf.data")).arg("true").env("HOME", home.path());
        if run_other(&mut perf).status != 0 {
            say(format_args!("perf cannot record here; skipped kernel symbols"));
        }
        Self { home, added: Mutex::default() }
    }

    /// Runs perf script. Returns the words of the names in the recording, and its samples.
    fn script(&self, path: &Path) -> Option<(BTreeSet<Vec<u8>>, Vec<ScriptSample>)> {
        let names = names_by_perf(path);
        self.add(&names);
        let words = names.iter().flat_map(|name| words_of(name)).map(<[u8]>::to_vec).collect();
        Some((words, script(path, self.home.path())?))
    }

    fn add(&self, names: &BTreeSet<Vec<u8>>) {
        let files = names.iter().map(|name| Path::new(OsStr::from_bytes(name)));
        // Hold the lock until all files are added, so that other threads find them.
        let mut added = self.added.lock().expect("no other thread should panic");
        for file in files.filter(|file| file.is_absolute() && file.is_file()) {
            if added.insert(file.to_owned()) {
                // A file without a build ID is not found by one either.
                run_other(
                    with_time_limit("perf").args(["buildid-cache", "-a"]).arg(file).env("HOME", self.home.path()),
                );
            }
        }
    }
}

/// Compares the stacks of a recording before and after. Returns the numbers of samples, frames, and frames with equal symbols.
fn compare_stacks(recording: &Recording, cache: &Cache) -> Result<(usize, usize, usize), String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [older, anonymous] = ["older", "anonymous"].map(|name| dir.path().join(name));
    let key = key(dir.path(), 7);
    let mut args = vec!["--anonymize", "--key", key.to_str().unwrap()];
    let (names, before) = match cache.script(&recording.path) {
        Some(lossy) => lossy,
        None => {
            // Convert recordings of newer perf versions for perf 6.1.
            let version = ["--perf-version", "6.1"];
            rewrite(&recording.path, &older, &version).map_err(|_| "not read")?;
            args.extend(version);
            cache.script(&older).ok_or("perf cannot print it")?
        }
    };
    rewrite(&recording.path, &anonymous, &args)?;
    let (by_perf, after) = cache.script(&anonymous).ok_or("DIFFERS: perf cannot print the output")?;
    let text = json(&recording.path)?;
    let is_unwound = memmem::find(&text, b"\"STACK_USER\"").is_some();
    let (contents, vocabulary) = (Contents::read(&text), vocabulary());
    for name in names.iter().filter(|name| !may_be_preserved(name, &vocabulary, &contents.preserved)) {
        if !contents.fields.values().any(|words| words.contains(name)) {
            return Err(format!("DIFFERS: perf prints {}, which the search does not cover", lossy(name)));
        }
        if by_perf.contains(name) {
            return Err(format!("DIFFERS: perf still prints {}", lossy(name)));
        }
    }
    if before.len() != after.len() {
        return Err(format!("DIFFERS: {} samples before, {} after", before.len(), after.len()));
    }
    let (mut frames, mut symbols) = (0, 0);
    for ((time, before), (other, after)) in before.iter().zip(&after) {
        // Unwound frames are lost with the user stacks.
        if time != other || !is_unwound && before.len() != after.len() {
            return Err(format!("DIFFERS: {time}: {before:?} and {other}: {after:?}"));
        }
        frames += after.len();
        for (before, after) in before.iter().zip(after).filter(|_| !is_unwound) {
            if before != after && !after.contains("[unknown]") && !before.contains("[unknown]") {
                return Err(format!("DIFFERS: {time}: {before} is {after}"));
            }
            symbols += usize::from(before == after && !after.contains("[unknown]"));
        }
    }
    Ok((after.len(), frames, symbols))
}

#[test]
fn perf_prints_the_same_stacks_and_symbols() {
    let (all, cache) = (share(6), Cache::new());
    let (mut files, mut samples, mut frames, mut symbols) = (0, 0, 0, 0);
    let (mut skipped, mut failures) = (BTreeMap::new(), Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| compare_stacks(recording, &cache))) {
        match outcome {
            Ok(count) => {
                files += 1;
                (samples, frames, symbols) = (samples + count.0, frames + count.1, symbols + count.2);
            }
            Err(what) if what.contains("DIFFERS") => failures.push(format!("{}: {what}", recording.name)),
            Err(what) => *skipped.entry(what.lines().next().unwrap_or_default().to_owned()).or_insert(0) += 1,
        }
    }
    say(format_args!(
        "{files} of {} recordings compared with perf script: {samples} samples with {frames} frames, {symbols} with a symbol",
        all.len()
    ));
    skipped.iter().for_each(|(reason, count)| say(format_args!("skipped {count}: {reason}")));
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    let enough = if has_corpus("anonymize") { 50 } else { 10 };
    assert!(files >= enough && samples >= 10 * enough, "compared only {files} recordings");
}

/// A program with a function to profile.
const PROGRAM: &str = "
    __attribute__((noinline)) unsigned secret_leaf(unsigned n) { unsigned s = n; for (unsigned i = 0; i < 30000; i++) s = s * 31 + i; return s; }
    int main(void) { unsigned s = 0; for (unsigned i = 0; i < 6000; i++) s += secret_leaf(i); return s == 1; }
";

#[test]
fn perf_finds_symbols_of_anonymized_files_by_build_id() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let (home, program, data) = (path("home"), path("secret-program"), path("perf.data"));
    fs::create_dir(&home).unwrap();
    fs::write(path("program.c"), PROGRAM).unwrap();
    let mut cc = with_time_limit("cc");
    cc.args(["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id=sha1", "-o"]);
    let mut perf = with_time_limit("perf");
    perf.args(["record", "-q", "-g", "--buildid-all", "-e", "cpu-clock:u", "-F", "999", "-o"])
        .arg(&data)
        .arg(&program)
        .env("HOME", &home);
    if run_other(cc.arg(&program).arg(path("program.c"))).status != 0 || run_other(&mut perf).status != 0 {
        say(format_args!("skipped: no C compiler, or perf cannot record here"));
        return;
    }
    // perf finds symbols only in its cache. Without --buildid-all, perf record omits build IDs of callers.
    let before = script(&data, &home).expect("perf should print what it recorded");
    fs::remove_file(&program).unwrap();
    let (preserved, replaced) = (path("preserved.data"), path("replaced.data"));
    rewrite(&data, &preserved, &["--anonymize"]).unwrap();
    rewrite(&data, &replaced, &["--anonymize", "--replace", "build-ids,pids,times,machine"]).unwrap();
    let after = script(&preserved, &home).expect("perf should print the output");
    assert_eq!(before, after);
    let in_leaf = after.iter().flat_map(|(_, stack)| stack).filter(|symbol| symbol.contains("secret_leaf")).count();
    assert!(in_leaf > 20, "{in_leaf}");
    let without = script(&replaced, &home).expect("perf should print the output");
    assert_eq!(without.len(), before.len());
    assert!(without.iter().all(|(_, stack)| stack.iter().all(|symbol| symbol == "[unknown]")));
    say(format_args!("{} samples of a program: {in_leaf} frames have its symbol, found by build ID", before.len()));
}

#[test]
fn replacements_depend_on_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let anonymize = |name: &str, input: &str, key: &Path| {
        let output = dir.path().join(name);
        rewrite(&fixture(input), &output, &["--anonymize", "--key", key.to_str().unwrap()]).unwrap();
        output
    };
    let names = |path: &Path| {
        let contents = Contents::read(&json(path).unwrap());
        contents.fields.get("MMAP2.body.filename").cloned().unwrap_or_default()
    };
    let keys = [key(dir.path(), 1), key(dir.path(), 2)];
    let [one, repeated] = ["one", "repeated"].map(|name| anonymize(name, "callgraph.data", &keys[0]));
    assert_eq!(fs::read(&one).unwrap(), fs::read(&repeated).unwrap());
    let (plain, other) = (anonymize("plain", "plain.data", &keys[0]), anonymize("other", "callgraph.data", &keys[1]));
    let is_name = |name: &&Vec<u8>| name.len() >= 12;
    let shared = names(&one).intersection(&names(&plain)).filter(is_name).count();
    assert!(shared >= 3, "only {shared} equal replacements of the same names");
    assert_eq!(names(&one).intersection(&names(&other)).filter(is_name).count(), 0);
    let random = [0, 1].map(|run| {
        let output = dir.path().join(format!("random{run}"));
        rewrite(&fixture("plain.data"), &output, &["--anonymize"]).unwrap();
        names(&output)
    });
    assert_eq!(random[0].intersection(&random[1]).filter(is_name).count(), 0);
}

#[test]
fn keep_and_replace_select_categories() {
    let dir = tempfile::tempdir().unwrap();
    let contents = |input: &str, args: &[&str]| {
        let output = dir.path().join("out");
        rewrite(&fixture(input), &output, &[&["--anonymize"], args].concat()).unwrap();
        let text = json(&output).unwrap();
        (Contents::read(&text), String::from_utf8(text).unwrap())
    };
    let has = |contents: &Contents, path: &str, word: &str| {
        contents.fields.get(path).is_some_and(|words| words.contains(word.as_bytes()))
    };
    for (input, what, path, word) in [
        ("plain.data", "paths", "MMAP2.body.filename", "libc.so.6"),
        ("plain.data", "comms", "COMM.body.comm", "loop-pie"),
        ("plain.data", "host", "HOSTNAME.content", "vm"),
        ("plain.data", "cmdline", "CMDLINE.content.strings", "loop"),
        ("cgroup.data", "cgroups", "CGROUP.body.path", "demo"),
        ("pipe-grouped.data", "events", "EVENT_DESC.content.events.name", "pf"),
    ] {
        let before = Contents::read(&json(&fixture(input)).unwrap());
        let occurs = |contents: &Contents| {
            let words = contents.fields.get(path).into_iter().flatten();
            words.filter(|found| memmem::find(found, word.as_bytes()).is_some()).count() > 0
        };
        assert!(
            occurs(&before),
            "{path} {word}: {:?}",
            before.fields.get(path).map(|words| words.iter().map(|word| lossy(word)).collect::<Vec<_>>())
        );
        assert!(!has(&contents(input, &[]).0, path, word), "{path} {word}");
        assert!(occurs(&contents(input, &["--keep", what]).0), "{path} {word}");
    }
    // Sample fields.
    let dwarf = corpus().into_iter().find(|recording| recording.name == "own/p61/dwarf.data");
    let dwarf = dwarf.map(|recording| recording.path);
    let fields = [
        (Some(fixture("tracepoints.data")), "raw", "field:pid_t old_pid"),
        (dwarf.clone(), "registers", "\"regs_user\":"),
        (dwarf, "stacks", "\"stack_user\":"),
    ];
    for (input, what, field) in fields.into_iter().filter_map(|(input, what, field)| Some((input?, what, field))) {
        let output = dir.path().join("out");
        let occurs = |path: &Path| memmem::find(&json(path).unwrap(), field.as_bytes()).is_some();
        assert!(occurs(&input), "{field}");
        for (args, is_preserved) in [(&["--anonymize"][..], false), (&["--anonymize", "--keep", what], true)] {
            rewrite(&input, &output, args).unwrap();
            assert_eq!(occurs(&output), is_preserved, "{field} {args:?}");
        }
    }
    // Categories that are preserved by default.
    let before = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let time = before.lines().rfind(|line| line.contains("\"SAMPLE\"")).unwrap();
    let time = &time[time.find("\"time\":").unwrap()..][..20];
    assert!(
        contents("plain.data", &[]).1.contains(time)
            && !contents("plain.data", &["--replace", "times"]).1.contains(time)
    );
    assert!(
        contents("plain.data", &[]).1.contains("CPUDESC")
            && !contents("plain.data", &["--replace", "machine"]).1.contains("CPUDESC")
    );
    let pid = &before[before.find("\"pid\":").unwrap()..][..11];
    let pid = before
        .match_indices("\"tid\":")
        .map(|(at, _)| &before[at..at + 10])
        .find(|pid| pid.as_bytes()[6] != b'0')
        .unwrap_or(pid);
    assert!(
        contents("plain.data", &[]).1.contains(pid) && !contents("plain.data", &["--replace", "pids"]).1.contains(pid),
        "{pid}"
    );
}

#[test]
fn rejects_bad_options_before_writing() {
    let dir = tempfile::tempdir().unwrap();
    let (output, short) = (dir.path().join("out.data"), dir.path().join("short"));
    fs::write(&short, "secret\n").unwrap();
    let short = short.to_str().unwrap();
    for (args, expected) in [
        (&["--anonymize", "--key", short][..], "a key of 7 bytes is too short"),
        (&["--anonymize", "--key", "/nonexistent"], "cannot read the key"),
        (&["--anonymize", "--keep", "everything"], "unknown category 'everything'; expected one of: paths"),
        (&["--anonymize", "--keep", "times", "--replace", "times"], "times is given to both --keep and --replace"),
        (&["--keep", "comms"], "--keep requires --anonymize"),
        (&["--key", "/dev/null"], "too short"),
    ] {
        let run = run(perfconv().arg("rewrite").arg(fixture("plain.data")).arg("-o").arg(&output).args(args));
        assert_eq!(run.status, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{args:?}: {}", run.stderr);
        assert!(!output.exists(), "{args:?}");
    }
}

#[test]
fn every_output_format_is_anonymized_and_reports_it() {
    let dir = tempfile::tempdir().unwrap();
    let secrets = [&b"forky"[..], b"libc.so", b"x86_64-linux-gnu"];
    for (name, args) in [
        ("out.pb", &[][..]),
        ("out.jsonl", &[]),
        ("out.json", &["--decode", "tracepoints"]),
        ("out.pb_data", &[]),
        ("out.perf.json", &["-t", "perf-json"]),
        ("out.csv", &["-t", "csv"]),
        ("pipe.data", &["--container", "pipe"]),
        ("dir.data", &["--container", "dir"]),
        ("sorted.data", &["--sort", "--compress"]),
        ("filtered.data", &["--comm", "forky"]),
    ] {
        for input in ["forks.data", "pipe.data"] {
            let output = dir.path().join(format!("{input}.{name}"));
            let converted = run(perfconv().arg(fixture(input)).arg("-o").arg(&output).args(args).arg("--anonymize"));
            assert_eq!(converted.status, 0, "{name}: {}", converted.stderr);
            let read = if name == "sorted.data" {
                let plain = dir.path().join("plain");
                rewrite(&output, &plain, &["--decompress"]).unwrap();
                bytes(&plain)
            } else {
                bytes(&output)
            };
            let original = bytes(&fixture(input));
            for secret in secrets {
                assert!(memmem::find(&original, secret).is_some(), "{input} {}", lossy(secret));
                assert!(memmem::find(&read, secret).is_none(), "{name}: {}", lossy(secret));
            }
            let contents = &converted.stderr;
            for part in [
                "anonymized: replaced file paths (",
                "thread names (",
                "anonymized: kept build IDs, process and thread IDs, times",
            ] {
                assert!(contents.contains(part), "{name}: {contents}");
            }
        }
    }
}

#[test]
fn anonymized_perf_json_omits_the_capture_time() {
    let dir = tempfile::tempdir().unwrap();
    let anonymize = |args: &[&str]| {
        let output = dir.path().join("out.json");
        let run = run(perfconv()
            .arg(fixture("plain.data"))
            .args(["-f", "-q", "-t", "perf-json", "-o"])
            .arg(&output)
            .args(args));
        assert_eq!(run.status, 0, "{}", run.stderr);
        fs::read_to_string(output).unwrap()
    };
    assert!(anonymize(&[]).contains("captured-on"));
    for args in [&["--anonymize"][..], &["--anonymize", "--replace", "times"]] {
        let contents = anonymize(args);
        assert!(contents.contains("header-version") && !contents.contains("captured-on"), "{args:?}: {contents}");
    }
}

#[test]
fn replaces_command_line_words_and_shifts_clocks_with_times() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let text = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let mut lines = Vec::new();
    let (command, clock) =
        ("alice 4111111111111111 0xdeadbeef rca11ab1e net:sekret-host time=12345678", 5_000_000_000_000_u64);
    for line in text.lines() {
        let mut object: Value = serde_json::from_str(line).unwrap();
        if object["feature"] == "CMDLINE" {
            let words = ["perf", "record", "-F", "99", "-e", "sched:sched_switch", "--"];
            let words: Vec<_> = words.into_iter().chain(command.split(' ')).collect();
            object["content"]["strings"] = serde_json::json!(words);
        } else if object["feature"] == "EVENT_DESC" {
            object["content"]["events"][0]["name"] = "sched:sekret".into();
        }
        if object["record"] == "COMM" && object["body"]["comm"] != "perf-exec" {
            object["body"]["comm"] = ":87654321".into();
        }
        lines.push(object.to_string());
        if object["record"] == "COMM" {
            let conv = serde_json::json!({ "time_shift": 31, "time_mult": 1, "time_zero": clock });
            lines.push(serde_json::json!({ "record": "TIME_CONV", "body": conv }).to_string());
        }
    }
    let (edited, input, output) = (path("e.jsonl"), path("e.data"), path("out.data"));
    fs::write(&edited, lines.join("\n")).unwrap();
    let converted = run(perfconv().arg(&edited).arg("-o").arg(&input));
    assert_eq!(converted.status, 0, "{}", converted.stderr);
    rewrite(&input, &output, &["--anonymize", "--replace", "times,machine"]).unwrap();
    let [before, after] = [&input, &output].map(|path| String::from_utf8(json(path).unwrap()).unwrap());
    for word in command.split(' ').chain(["sched:sekret", ":87654321"]) {
        assert!(before.contains(word) && !after.contains(word), "{word}");
    }
    assert!(after.contains(r#"["perf","record","-F","99","-e","sched:sched_switch","--","#), "{after}");
    let profile = path("out.pb");
    let converted = run(perfconv().arg(&input).arg("--anonymize").arg("-o").arg(&profile));
    assert_eq!(converted.status, 0, "{}", converted.stderr);
    for word in command.split(' ').chain(["sched:sekret"]) {
        assert!(memmem::find(&bytes(&profile), word.as_bytes()).is_none(), "{word} is in the profile");
    }
    // The distance between the first sample's time and the clock's zero.
    let distance = |text: &str| {
        let number = |kind: &str, of: &dyn Fn(&Value) -> Option<i64>| {
            let mut objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            objects.find(|object| object["record"] == kind).and_then(|object| of(&object["body"])).expect("a number")
        };
        let zero = number("TIME_CONV", &|body| body["time_zero"].as_u64().map(u64::cast_signed));
        (number("SAMPLE", &|body| body["time"].as_i64()).wrapping_sub(zero), zero)
    };
    let ((before, zero), (after, shifted)) = (distance(&before), distance(&after));
    assert!(before == after && zero == clock.cast_signed() && shifted != zero, "{before} {after} {shifted}");
}

#[test]
fn drops_unknown_records_features_and_padding() {
    let dir = tempfile::tempdir().unwrap();
    let hidden = "HIDDEN-SECRET-TEXT";
    let text = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let mut lines: Vec<String> = Vec::new();
    let mut padded = 0;
    for line in text.lines() {
        let mut object: Value = serde_json::from_str(line).unwrap();
        if object["record"] == "COMM" {
            let comm = object["body"]["comm"].as_str().unwrap().to_owned();
            let mut padding = vec![0];
            padding.extend(hidden.bytes());
            padding.resize(40 - comm.len(), 0);
            object["body"]["comm"] =
                serde_json::json!({ "text": comm, "room": 40, "padding": STANDARD.encode(padding) });
            padded += 1;
        }
        lines.push(object.to_string());
        if object["record"] == "COMM" {
            lines.push(format!("{{\"record\":201,\"raw\":\"{}\"}}", STANDARD.encode(format!("{hidden:<24}"))));
        }
    }
    let path = |name: &str| dir.path().join(name);
    let (edited, records, data, anonymous) = (path("e.jsonl"), path("e.data"), path("all.data"), path("a.data"));
    fs::write(&edited, lines.join("\n")).unwrap();
    let converted = run(perfconv().arg(&edited).arg("-o").arg(&records));
    assert_eq!(converted.status, 0, "{}", converted.stderr);
    let mut passes = Passes::default();
    passes.push(Hide(hidden.as_bytes()));
    let mut sink = ToFile::new(fs::File::create(&data).unwrap(), Form::default());
    passes.run(Input::Path(records), &ReadOptions::default(), &mut sink).unwrap();
    let count = |path: &Path| memmem::find_iter(&bytes(path), hidden).count();
    assert_eq!(
        count(&data),
        2 * padded + 4,
        "in padding of names, tails of features and attrs (stored twice), unknown records and features"
    );
    let converted = run(perfconv().args(["rewrite", "--anonymize"]).arg(&data).arg("-o").arg(&anonymous));
    assert_eq!((converted.status, count(&anonymous)), (0, 0), "{}", converted.stderr);
    for dropped in ["201 records (", "the feature 60 ("] {
        assert!(converted.stderr.contains(dropped), "{}", converted.stderr);
    }
}

#[test]
fn event_ids_of_a_corrupt_size_do_not_leak_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("in.data"), dir.path().join("out.data"));
    let mut corrupted = fs::read(fixture("plain.data")).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    // A corrupt size extends the IDs to the end of the file, over the records and features.
    let size_at = (word(&corrupted, 24) + word(&corrupted, 16)) as usize - 8;
    let size = (corrupted.len() as u64 - word(&corrupted, size_at - 8)) / 8 * 8;
    corrupted[size_at..size_at + 8].copy_from_slice(&size.to_le_bytes());
    fs::write(&input, &corrupted).unwrap();
    rewrite(&input, &output, &["--anonymize"]).unwrap();
    let anonymized = bytes(&output);
    assert!(anonymized.len() as u64 > size, "the IDs should be preserved in number");
    for secret in [&b"/usr/lib/"[..], b"/libc.so", b"loop-pie"] {
        assert!(memmem::find(&corrupted, secret).is_some(), "{}", lossy(secret));
        // Replacement works on 8-byte words, so check whole words for strings that are not aligned.
        let words = memmem::find_iter(&corrupted, secret).map(|at| &corrupted[at.next_multiple_of(8)..][..8]);
        for word in words.filter(|word| word.iter().all(u8::is_ascii_graphic)).chain([secret]) {
            assert!(memmem::find(&anonymized, word).is_none(), "{}", lossy(word));
        }
    }
}

#[test]
fn event_ids_are_replaced_consistently() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    for (input, min) in
        [("two-events.data", 2), ("group-read.data", 2), ("pipe-grouped.data", 4), ("tracepoints.data", 4)]
    {
        rewrite(&fixture(input), &output, &["--anonymize"]).unwrap();
        let [before, after] = [&fixture(input), &output].map(|path| {
            let text = json(path).unwrap();
            let (mut declared, mut used) = (BTreeSet::new(), BTreeMap::new());
            for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let object: Value = serde_json::from_slice(line).unwrap();
                let is_declared = ["HEADER_ATTR", "ID_INDEX"].iter().any(|kind| object["record"] == *kind)
                    || object["attr"].is_object()
                    || object["feature"] == "EVENT_DESC";
                ids_in("", &object, &mut |id| {
                    if is_declared {
                        declared.insert(id);
                    } else {
                        *used.entry(id).or_insert(0) += 1;
                    }
                });
            }
            used.remove(&0);
            (declared, used)
        });
        let counts = |used: &BTreeMap<u64, usize>| {
            let mut counts: Vec<_> = used.values().copied().collect();
            counts.sort_unstable();
            counts
        };
        assert!(before.0.len() >= min && !before.1.is_empty(), "{input}: {before:?}");
        assert_eq!((before.0.len(), counts(&before.1)), (after.0.len(), counts(&after.1)), "{input}");
        assert!(after.1.keys().all(|id| after.0.contains(id)), "{input}: {after:?}");
        assert!(before.0.is_disjoint(&after.0), "{input}");
    }
}

/// Visits all event IDs in a line of JSON.
fn ids_in(key: &str, value: &Value, visit: &mut impl FnMut(u64)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| ids_in(key, value, visit)),
        Value::Array(items) => items.iter().for_each(|item| ids_in(key, item, visit)),
        Value::Number(number) if ["id", "ids", "identifier", "stream_id"].contains(&key) => {
            visit(number.as_u64().expect("an ID"));
        }
        _ => {}
    }
}

/// Hides text in an unknown feature, after the end of a known feature, and in the tail of an attr.
struct Hide(&'static [u8]);

impl Pass for Hide {
    fn name(&self) -> String {
        "hide".to_owned()
    }

    fn changes_records(&self) -> bool {
        false
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> perfconv::Result<()> {
        header.features.insert(FeatureId(60), self.0.into());
        let nr_cpus = header.features[&FeatureId::NRCPUS].to_vec();
        header.features.insert(FeatureId::NRCPUS, [&nr_cpus, self.0].concat().into());
        let event = header.events[0].as_mut().expect("an event");
        event.attr = event.attr.resized(Attr::SIZE_KNOWN + 24);
        event.attr.size = event.attr.stored_size() as u32;
        event.attr.tail = format!("{:<24}", String::from_utf8_lossy(self.0)).into_bytes();
        Ok(())
    }
}

fn say(line: Arguments<'_>) {
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr();
    writeln!(out, "anonymize: {line}").unwrap();
}
