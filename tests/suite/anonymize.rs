//! What identifies is gone: every string of a recording, wherever it is told, is looked for in what is made of it.

use crate::suite::files::{Recording, corpus, fixture, has_corpus, share};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use perfconv::abi::attr::Attr;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::feature::tracepoint_format::TracepointFormat;
use perfconv::abi::feature::tracing_data::{ByteOrder, TraceFile, TracingData};
use perfconv::abi::hex::from_hex;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::rewrite::anonymize::events::{is_common, is_raw};
use perfconv::rewrite::anonymize::vocabulary;
use perfconv::rewrite::header::Header;
use perfconv::rewrite::pass::Pass;
use perfconv::rewrite::passes::Passes;
use perfconv::stream::write::file::ToFile;
use perfconv::stream::write::form::Form;
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

/// Strings that are looked for are as long at least; shorter ones are compared field by field.
const SHORTEST: usize = 5;
/// Of bytes that are no text, pieces of this length that look like text.
const SHORTEST_PIECE: usize = 8;

/// Fields of the JSON whose strings are names of values that perf defines, or numbers.
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
/// Fields of bytes.
const BYTES: [&str; 14] = [
    "data", "raw", "old", "new", "padding", "tail", "gap", "bytes", "inside", "before", "behind", "payload", "fill",
    "pad",
];
/// Fields of what stays where nothing else is asked for.
const STAYS: [&str; 2] = ["build_id", "scale"];
/// Features that stay.
const FEATURES: [&str; 9] = [
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

/// What a recording tells.
#[derive(Default)]
struct Told {
    /// Strings, by the field that they are in.
    fields: BTreeMap<String, BTreeSet<Vec<u8>>>,
    /// Pieces of bytes.
    pieces: BTreeSet<Vec<u8>>,
    /// Strings of what stays.
    stays: BTreeSet<Vec<u8>>,
    /// Addresses of user space above what all machines have.
    addresses: BTreeSet<u64>,
    /// Numbers of call chains that come later.
    cookies: BTreeSet<u64>,
}

/// The mark before such a number.
const DEFERRED: &str = "0xfffffffffffffd80";

impl Told {
    fn read(json: &[u8]) -> Self {
        let mut told = Self::default();
        for line in json.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let object: Value = serde_json::from_slice(line).expect("a line of JSON");
            let name = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let feature = name("feature");
            let path = if feature.is_empty() { name("record") } else { feature.clone() };
            told.value(&path, "", &object, FEATURES.contains(&&*feature));
            // A chain that comes later is known by a number, which stands among the addresses.
            let marked = object["body"]["callchain"]["ips"].as_array().into_iter().flatten();
            let cookies = marked.skip_while(|ip| **ip != DEFERRED).skip(1).take(1).filter_map(Value::as_str);
            told.cookies.extend(cookies.filter_map(|ip| u64::from_str_radix(ip.strip_prefix("0x")?, 16).ok()));
        }
        let cookies = std::mem::take(&mut told.cookies);
        told.addresses.retain(|address| !cookies.contains(address));
        told
    }

    fn value(&mut self, path: &str, key: &str, value: &Value, stays: bool) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    // Text with its padding is an object of its own.
                    let (path, key) =
                        if name == "text" { (path.to_owned(), key) } else { (format!("{path}.{name}"), &**name) };
                    self.value(&path, key, value, stays);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.value(path, key, item, stays)),
            Value::String(text) => self.text(path, key, text, stays),
            _ => {}
        }
    }

    fn text(&mut self, path: &str, key: &str, text: &str, stays: bool) {
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
        } else if BYTES.contains(&key) && !path.ends_with("name.bytes") {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            let is_text = |byte: &u8| byte.is_ascii_graphic();
            let runs = bytes.chunk_by(|a, b| is_text(a) == is_text(b));
            self.pieces.extend(runs.filter(|run| run.len() >= SHORTEST_PIECE && is_text(&run[0])).map(<[u8]>::to_vec));
        } else if stays || STAYS.contains(&key) {
            self.stays.insert(text.as_bytes().to_vec());
        } else if !DEFINED.contains(&key) && !path.starts_with("STAT_CONFIG") && !text.is_empty() {
            let is_event = ["name", "strings"].contains(&key);
            let events = text
                .split(',')
                .filter(|event| is_event && (is_common(event.as_bytes(), true) || is_raw(event.as_bytes())));
            self.stays.extend(events.map(|event| event.as_bytes().to_vec()));
            let words = self.fields.entry(path.to_owned()).or_default();
            words.extend(words_of(text.as_bytes()).map(<[u8]>::to_vec));
        }
    }
}

/// The words of a string: what is between slashes, blanks and the like.
fn words_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| b"/ \t\n:;,=()[]{}\"".contains(byte)).filter(|word| !word.is_empty())
}

/// The vocabulary: words that stay in every recording.
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
        OWN_OPTIONS,
        VALUES,
        UNITS,
        ARCHES,
        TOPOLOGY,
        &["name: ID: header_page header_event Dtracing0.6", DELETED],
    ];
    let words = lists.into_iter().flatten().map(|word| word.as_bytes());
    words.chain(minimal_formats().map(|text| &*text.leak())).collect()
}

/// What stays of the formats of tracepoints: the common fields, and how a page of the ring buffer begins.
fn minimal_formats() -> impl Iterator<Item = Vec<u8>> {
    let format = TraceFile::from(&TracepointFormat::new("", 0)).text;
    let header_page = |long_size| TracingData::new(ByteOrder(0), long_size, 0x1000, Vec::new()).files.header_page.text;
    [format, header_page(4), header_page(8)].into_iter()
}

/// Whether a word may stay: it is in the vocabulary or a part of it, a number, or in what stays of the recording.
fn may_stay(word: &[u8], vocabulary: &[&[u8]], stays: &BTreeSet<Vec<u8>>) -> bool {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    word.iter().all(|byte| byte.is_ascii_digit() || b".-+".contains(byte))
        || word.strip_prefix(b"0x").is_some_and(is_hex)
        || vocabulary.iter().any(|known| memmem::find(known, word).is_some())
        || stays.iter().any(|known| memmem::find(known, word).is_some())
}

/// All bytes of a recording, of a folder those of all its files.
fn bytes(path: &Path) -> Vec<u8> {
    if !path.is_dir() {
        return fs::read(path).expect("the recording can be read");
    }
    let mut files: Vec<_> =
        fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.iter().flat_map(|file| bytes(file)).collect()
}

fn rewritten(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    if run.status == 0 { Ok(()) } else { Err(run.stderr) }
}

fn json(path: &Path) -> Result<Vec<u8>, String> {
    let run = run(perfconv().arg(path).args(["-t", "jsonl", "-q", "-o", "-"]));
    if run.status == 0 { Ok(run.stdout) } else { Err(run.stderr) }
}

/// A file with a key.
fn key(folder: &Path, byte: u8) -> PathBuf {
    let path = folder.join(format!("key-{byte}"));
    fs::write(&path, [byte; 32]).unwrap();
    path
}

/// What was found in a recording, and in what was made of it.
#[derive(Default)]
struct Scan {
    /// Strings of five bytes and more, and pieces of bytes, that were looked for.
    strings: usize,
    /// Shorter strings that were compared field by field.
    shorter: usize,
    addresses: usize,
    /// Words that may stay.
    stays: BTreeSet<String>,
    /// What is wrong.
    wrong: Vec<String>,
}

fn shown(word: &[u8]) -> String {
    String::from_utf8_lossy(word).into_owned()
}

fn scan(recording: &Recording) -> Result<Scan, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (plain, anonymous) = (folder.path().join("plain"), folder.path().join("anonymous"));
    rewritten(&recording.path, &plain, &["--decompress"])?;
    let before = Told::read(&json(&recording.path)?);
    let key = key(folder.path(), 7);
    rewritten(&recording.path, &anonymous, &["--anonymize", "--key", key.to_str().unwrap()])
        .map_err(|error| format!("cannot be anonymized: {error}"))?;
    let after = Told::read(&json(&anonymous)?);
    let (original, output) = (bytes(&plain), bytes(&anonymous));
    let mut scan = Scan::default();

    let vocabulary = vocabulary();
    let stays = &before.stays;
    let pieces = before.pieces.iter().map(Vec::as_slice);
    let mut strings: BTreeSet<&[u8]> = pieces.filter(|piece| !may_stay(piece, &vocabulary, stays)).collect();
    let told_after: Vec<_> = after.fields.values().flatten().chain(&after.pieces).collect();
    for (path, words) in &before.fields {
        for word in words {
            if may_stay(word, &vocabulary, stays) {
                scan.stays.insert(shown(word));
            } else {
                if after.fields.get(path).is_some_and(|after| after.contains(word)) {
                    scan.wrong.push(format!("{path} is still {}", shown(word)));
                }
                scan.shorter += usize::from(word.len() < SHORTEST);
                strings.extend((word.len() >= SHORTEST).then_some(&word[..]));
            }
        }
    }
    for &word in &strings {
        scan.strings += 1;
        let finder = memmem::Finder::new(word);
        if finder.find(&original).is_none() && !before.pieces.contains(word) {
            scan.wrong.push(format!("the scan does not find {} in the original", shown(word)));
        }
        if finder.find(&output).is_some() || told_after.iter().any(|told| finder.find(told).is_some()) {
            scan.wrong.push(format!("{} is still there", shown(word)));
        }
    }
    for &address in &before.addresses {
        scan.addresses += 1;
        let [little, big] = [address.to_le_bytes(), address.to_be_bytes()];
        let is_in = |bytes: &[u8]| memmem::find(bytes, &little).is_some() || memmem::find(bytes, &big).is_some();
        if !is_in(&original) {
            scan.wrong.push(format!("the scan does not find {address:#x} in the original"));
        }
        if is_in(&output) {
            scan.wrong.push(format!("{address:#x} is still there"));
        }
    }
    Ok(scan)
}

#[test]
fn no_string_and_no_address_of_a_recording_is_in_what_is_made_of_it() {
    let all = share(4);
    let (mut files, mut strings, mut shorter, mut addresses) = (0, 0, 0, 0);
    let (mut stays, mut skipped, mut wrong) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for (recording, scan) in all.iter().zip(for_each(&all, scan)) {
        match scan {
            Ok(scan) => {
                files += 1;
                (strings, shorter, addresses) =
                    (strings + scan.strings, shorter + scan.shorter, addresses + scan.addresses);
                stays.extend(scan.stays);
                wrong.extend(scan.wrong.into_iter().map(|what| format!("{}: {what}", recording.name)));
            }
            Err(error) if error.contains("cannot be anonymized") => wrong.push(format!("{}: {error}", recording.name)),
            Err(error) => {
                let reason =
                    error.lines().next().unwrap_or_default().rsplit(": ").next().unwrap_or_default().to_owned();
                *skipped.entry(reason).or_insert(0) += 1;
            }
        }
    }
    say(format_args!(
        "{files} recordings of {}: {strings} strings and {addresses} addresses looked for, {shorter} shorter strings compared field by field",
        all.len()
    ));
    say(format_args!("vocabulary and what stays, not looked for: {}", stays.into_iter().collect::<Vec<_>>().join(" ")));
    skipped.iter().for_each(|(reason, count)| say(format_args!("skipped {count}: {reason}")));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    let (enough, many) = if has_corpus("anonymize") { (100, 5000) } else { (20, 500) };
    assert!(files >= enough && strings >= many && addresses >= many / 5, "too little was looked for");
}

/// What `perf script` shows of a sample: when, and which symbols its stack is in.
type Shown = (String, Vec<String>);

fn script(path: &Path, home: &Path) -> Option<Vec<Shown>> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "--force", "--ns", "--no-itrace", "-F", "time,ip,sym,symoff", "-i"]).arg(path);
    let run = run_other(perf.env("HOME", home).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS"));
    let (text, mut samples) = (String::from_utf8_lossy(&run.stdout).into_owned(), Vec::<Shown>::new());
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

/// What perf itself shows of a recording that names something: files, the host, the command line.
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
        // perf makes up files for code that was compiled as it ran, and says where it knows nothing.
        let is_made_up = file.is_some_and(|file| {
            file == b"null" || file.starts_with(b"/tmp/perf-") || !line.starts_with(b" ") && !line.starts_with(b"\t")
        });
        let file = file.filter(|_| !is_made_up);
        let header = header.filter(|header| *header != b"(null)");
        names.extend(header.or(file).map(<[u8]>::to_vec));
    }
    names
}

/// What perf knows of this machine, in a home of its own: of what is in its cache it finds the symbols by build id, whatever it is
/// called. Of debug information that is installed without its program being found, perf 6.1 takes wrong addresses.
struct Cache {
    home: TempDir,
    known: Mutex<BTreeSet<PathBuf>>,
}

impl Cache {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut perf = with_time_limit("perf");
        perf.args(["record", "-q", "-o"]).arg(home.path().join("perf.data")).arg("true").env("HOME", home.path());
        if run_other(&mut perf).status != 0 {
            say(format_args!("perf cannot record here: symbols of the kernel are not compared"));
        }
        Self { home, known: Mutex::default() }
    }

    /// What perf shows of a recording: the words of its names, and its samples.
    fn script(&self, path: &Path) -> Option<(BTreeSet<Vec<u8>>, Vec<Shown>)> {
        let names = names_by_perf(path);
        self.add(&names);
        let words = names.iter().flat_map(|name| words_of(name)).map(<[u8]>::to_vec).collect();
        Some((words, script(path, self.home.path())?))
    }

    fn add(&self, names: &BTreeSet<Vec<u8>>) {
        let files = names.iter().map(|name| Path::new(OsStr::from_bytes(name)));
        // Nobody goes on before all are there that others add.
        let mut known = self.known.lock().expect("no other thread panics");
        for file in files.filter(|file| file.is_absolute() && file.is_file()) {
            if known.insert(file.to_owned()) {
                // What has no build id is not found by one either.
                run_other(
                    with_time_limit("perf").args(["buildid-cache", "-a"]).arg(file).env("HOME", self.home.path()),
                );
            }
        }
    }
}

/// How the stacks of a recording compare: how many samples and frames there are, and in how many both have a symbol.
fn compare_stacks(recording: &Recording, cache: &Cache) -> Result<(usize, usize, usize), String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [older, anonymous] = ["older", "anonymous"].map(|name| folder.path().join(name));
    let key = key(folder.path(), 7);
    let mut args = vec!["--anonymize", "--key", key.to_str().unwrap()];
    let (names, before) = match cache.script(&recording.path) {
        Some(shown) => shown,
        None => {
            // perf 6.1 reads what is written for it.
            let version = ["--perf-version", "6.1"];
            rewritten(&recording.path, &older, &version).map_err(|_| "not read")?;
            args.extend(version);
            cache.script(&older).ok_or("not shown by perf")?
        }
    };
    rewritten(&recording.path, &anonymous, &args)?;
    let (by_perf, after) = cache.script(&anonymous).ok_or("DIFFERS: perf does not show it any more")?;
    let text = json(&recording.path)?;
    let is_unwound = memmem::find(&text, b"\"STACK_USER\"").is_some();
    let (told, vocabulary) = (Told::read(&text), vocabulary());
    for name in names.iter().filter(|name| !may_stay(name, &vocabulary, &told.stays)) {
        if !told.fields.values().any(|words| words.contains(name)) {
            return Err(format!("DIFFERS: perf shows {}, which is not among what was looked for", shown(name)));
        }
        if by_perf.contains(name) {
            return Err(format!("DIFFERS: perf still shows {}", shown(name)));
        }
    }
    if before.len() != after.len() {
        return Err(format!("DIFFERS: {} samples, and {} of them after", before.len(), after.len()));
    }
    let (mut frames, mut symbols) = (0, 0);
    for ((time, before), (other, after)) in before.iter().zip(&after) {
        // What perf makes of a user stack it cannot make without it.
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
fn perf_shows_the_same_stacks_and_no_other_symbols() {
    let (all, cache) = (share(6), Cache::new());
    let (mut files, mut samples, mut frames, mut symbols) = (0, 0, 0, 0);
    let (mut skipped, mut wrong) = (BTreeMap::new(), Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| compare_stacks(recording, &cache))) {
        match outcome {
            Ok(count) => {
                files += 1;
                (samples, frames, symbols) = (samples + count.0, frames + count.1, symbols + count.2);
            }
            Err(what) if what.contains("DIFFERS") => wrong.push(format!("{}: {what}", recording.name)),
            Err(what) => *skipped.entry(what.lines().next().unwrap_or_default().to_owned()).or_insert(0) += 1,
        }
    }
    say(format_args!(
        "{files} recordings of {}: {samples} samples with {frames} frames as perf script shows them, {symbols} with a symbol here",
        all.len()
    ));
    skipped.iter().for_each(|(reason, count)| say(format_args!("skipped {count}: {reason}")));
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    let enough = if has_corpus("anonymize") { 50 } else { 10 };
    assert!(files >= enough && samples >= 10 * enough, "only {files} were compared");
}

/// A program whose functions call each other.
const PROGRAM: &str = "
    __attribute__((noinline)) unsigned secret_leaf(unsigned n) { unsigned s = n; for (unsigned i = 0; i < 30000; i++) s = s * 31 + i; return s; }
    int main(void) { unsigned s = 0; for (unsigned i = 0; i < 6000; i++) s += secret_leaf(i); return s == 1; }
";

#[test]
fn a_program_of_ones_own_has_its_symbols_by_build_id_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
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
        say(format_args!("there is no compiler, or perf cannot record here: nothing is compared"));
        return;
    }
    // What perf has put into its cache is all that there is; of callers it tells build ids only if it is asked to.
    let before = script(&data, &home).expect("perf shows what it has recorded");
    fs::remove_file(&program).unwrap();
    let (kept, replaced) = (path("kept.data"), path("replaced.data"));
    rewritten(&data, &kept, &["--anonymize"]).unwrap();
    rewritten(&data, &replaced, &["--anonymize", "--replace", "build-ids,pids,times,machine"]).unwrap();
    let after = script(&kept, &home).expect("perf shows what is made of it");
    assert_eq!(before, after);
    let in_leaf = after.iter().flat_map(|(_, stack)| stack).filter(|symbol| symbol.contains("secret_leaf")).count();
    assert!(in_leaf > 20, "{in_leaf}");
    let without = script(&replaced, &home).expect("perf shows what is made of it");
    assert_eq!(without.len(), before.len());
    assert!(without.iter().all(|(_, stack)| stack.iter().all(|symbol| symbol == "[unknown]")));
    say(format_args!("{} samples of a program: {in_leaf} frames have its symbol by build id", before.len()));
}

#[test]
fn the_same_key_replaces_equally_and_another_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, input: &str, key: &Path| {
        let output = folder.path().join(name);
        rewritten(&fixture(input), &output, &["--anonymize", "--key", key.to_str().unwrap()]).unwrap();
        output
    };
    let names = |path: &Path| {
        let told = Told::read(&json(path).unwrap());
        told.fields.get("MMAP2.body.filename").cloned().unwrap_or_default()
    };
    let keys = [key(folder.path(), 1), key(folder.path(), 2)];
    let [one, again] = ["one", "again"].map(|name| made(name, "callgraph.data", &keys[0]));
    assert_eq!(fs::read(&one).unwrap(), fs::read(&again).unwrap());
    let (plain, other) = (made("plain", "plain.data", &keys[0]), made("other", "callgraph.data", &keys[1]));
    let is_name = |name: &&Vec<u8>| name.len() >= 12;
    let shared = names(&one).intersection(&names(&plain)).filter(is_name).count();
    assert!(shared >= 3, "{shared} names of the same files are the same");
    assert_eq!(names(&one).intersection(&names(&other)).filter(is_name).count(), 0);
    let random = [0, 1].map(|turn| {
        let output = folder.path().join(format!("random{turn}"));
        rewritten(&fixture("plain.data"), &output, &["--anonymize"]).unwrap();
        names(&output)
    });
    assert_eq!(random[0].intersection(&random[1]).filter(is_name).count(), 0);
}

#[test]
fn what_is_asked_for_stays_and_what_is_not_goes() {
    let folder = tempfile::tempdir().unwrap();
    let told = |input: &str, args: &[&str]| {
        let output = folder.path().join("out");
        rewritten(&fixture(input), &output, &[&["--anonymize"], args].concat()).unwrap();
        let text = json(&output).unwrap();
        (Told::read(&text), String::from_utf8(text).unwrap())
    };
    let has = |told: &Told, path: &str, word: &str| {
        told.fields.get(path).is_some_and(|words| words.contains(word.as_bytes()))
    };
    for (input, what, path, word) in [
        ("plain.data", "paths", "MMAP2.body.filename", "libc.so.6"),
        ("plain.data", "comms", "COMM.body.comm", "loop-pie"),
        ("plain.data", "host", "HOSTNAME.content", "vm"),
        ("plain.data", "cmdline", "CMDLINE.content.strings", "loop"),
        ("cgroup.data", "cgroups", "CGROUP.body.path", "demo"),
        ("pipe-grouped.data", "events", "EVENT_DESC.content.events.name", "pf"),
    ] {
        let before = Told::read(&json(&fixture(input)).unwrap());
        let is_there = |told: &Told| {
            let words = told.fields.get(path).into_iter().flatten();
            words.filter(|found| memmem::find(found, word.as_bytes()).is_some()).count() > 0
        };
        assert!(
            is_there(&before),
            "{path} {word}: {:?}",
            before.fields.get(path).map(|words| words.iter().map(|word| shown(word)).collect::<Vec<_>>())
        );
        assert!(!has(&told(input, &[]).0, path, word), "{path} {word}");
        assert!(is_there(&told(input, &["--keep", what]).0), "{path} {word}");
    }
    // Fields of samples.
    let dwarf = corpus().into_iter().find(|recording| recording.name == "own/p61/dwarf.data");
    let dwarf = dwarf.map(|recording| recording.path);
    let fields = [
        (Some(fixture("tracepoints.data")), "raw", "field:pid_t old_pid"),
        (dwarf.clone(), "registers", "\"regs_user\":"),
        (dwarf, "stacks", "\"stack_user\":"),
    ];
    for (input, what, field) in fields.into_iter().filter_map(|(input, what, field)| Some((input?, what, field))) {
        let output = folder.path().join("out");
        let is_there = |path: &Path| memmem::find(&json(path).unwrap(), field.as_bytes()).is_some();
        assert!(is_there(&input), "{field}");
        for (args, stays) in [(&["--anonymize"][..], false), (&["--anonymize", "--keep", what], true)] {
            rewritten(&input, &output, args).unwrap();
            assert_eq!(is_there(&output), stays, "{field} {args:?}");
        }
    }
    // What stays by itself.
    let before = String::from_utf8(json(&fixture("plain.data")).unwrap()).unwrap();
    let time = before.lines().rfind(|line| line.contains("\"SAMPLE\"")).unwrap();
    let time = &time[time.find("\"time\":").unwrap()..][..20];
    assert!(told("plain.data", &[]).1.contains(time) && !told("plain.data", &["--replace", "times"]).1.contains(time));
    assert!(
        told("plain.data", &[]).1.contains("CPUDESC")
            && !told("plain.data", &["--replace", "machine"]).1.contains("CPUDESC")
    );
    let pid = &before[before.find("\"pid\":").unwrap()..][..11];
    let pid = before
        .match_indices("\"tid\":")
        .map(|(at, _)| &before[at..at + 10])
        .find(|pid| pid.as_bytes()[6] != b'0')
        .unwrap_or(pid);
    assert!(
        told("plain.data", &[]).1.contains(pid) && !told("plain.data", &["--replace", "pids"]).1.contains(pid),
        "{pid}"
    );
}

#[test]
fn bad_requests_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (output, short) = (folder.path().join("out.data"), folder.path().join("short"));
    fs::write(&short, "secret\n").unwrap();
    let short = short.to_str().unwrap();
    for (args, says) in [
        (&["--anonymize", "--key", short][..], "a key of 7 bytes is too short"),
        (&["--anonymize", "--key", "/nonexistent"], "cannot be read"),
        (&["--anonymize", "--keep", "everything"], "there is no such thing; there is paths"),
        (
            &["--anonymize", "--keep", "times", "--replace", "times"],
            "times cannot both stay (--keep) and be replaced (--replace)",
        ),
        (&["--keep", "comms"], "--keep is for --anonymize"),
        (&["--key", "/dev/null"], "too short"),
    ] {
        let run = run(perfconv().arg("rewrite").arg(fixture("plain.data")).arg("-o").arg(&output).args(args));
        assert_eq!(run.status, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{args:?}: {}", run.stderr);
        assert!(!output.exists(), "{args:?}");
    }
}

#[test]
fn every_output_is_anonymous_and_tells_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
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
            let output = folder.path().join(format!("{input}.{name}"));
            let made = run(perfconv().arg(fixture(input)).arg("-o").arg(&output).args(args).arg("--anonymize"));
            assert_eq!(made.status, 0, "{name}: {}", made.stderr);
            let read = if name == "sorted.data" {
                let plain = folder.path().join("plain");
                rewritten(&output, &plain, &["--decompress"]).unwrap();
                bytes(&plain)
            } else {
                bytes(&output)
            };
            let original = bytes(&fixture(input));
            for secret in secrets {
                assert!(memmem::find(&original, secret).is_some(), "{input} {}", shown(secret));
                assert!(memmem::find(&read, secret).is_none(), "{name}: {}", shown(secret));
            }
            let told = made.warnings().join("\n");
            for part in [
                "anonymized: replaced paths of files (",
                "names of threads (",
                "what remains is build ids, process numbers, times",
            ] {
                assert!(told.contains(part), "{name}: {told}");
            }
        }
    }
}

#[test]
fn an_anonymous_recording_does_not_tell_when_its_file_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let made = |args: &[&str]| {
        let output = folder.path().join("out.json");
        let run = run(perfconv()
            .arg(fixture("plain.data"))
            .args(["-f", "-q", "-t", "perf-json", "-o"])
            .arg(&output)
            .args(args));
        assert_eq!(run.status, 0, "{}", run.stderr);
        fs::read_to_string(output).unwrap()
    };
    assert!(made(&[]).contains("captured-on"));
    for args in [&["--anonymize"][..], &["--anonymize", "--replace", "times"]] {
        let told = made(args);
        assert!(told.contains("header-version") && !told.contains("captured-on"), "{args:?}: {told}");
    }
}

#[test]
fn words_and_numbers_of_ones_own_go_and_clocks_move_as_times_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
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
    let made = run(perfconv().arg(&edited).arg("-o").arg(&input));
    assert_eq!(made.status, 0, "{}", made.stderr);
    rewritten(&input, &output, &["--anonymize", "--replace", "times,machine"]).unwrap();
    let [before, after] = [&input, &output].map(|path| String::from_utf8(json(path).unwrap()).unwrap());
    for word in command.split(' ').chain(["sched:sekret", ":87654321"]) {
        assert!(before.contains(word) && !after.contains(word), "{word}");
    }
    assert!(after.contains(r#"["perf","record","-F","99","-e","sched:sched_switch","--","#), "{after}");
    let profile = path("out.pb");
    let made = run(perfconv().arg(&input).arg("--anonymize").arg("-o").arg(&profile));
    assert_eq!(made.status, 0, "{}", made.stderr);
    for word in command.split(' ').chain(["sched:sekret"]) {
        assert!(memmem::find(&bytes(&profile), word.as_bytes()).is_none(), "{word} is in the profile");
    }
    // How far the first sample is from the clock's zero.
    let distance = |text: &str| {
        let number = |kind: &str, of: &dyn Fn(&Value) -> Option<i64>| {
            let mut objects = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            objects.find(|object| object["record"] == kind).and_then(|object| of(&object["body"])).expect("a number")
        };
        let zero = number("TIME_CONV", &|body| body["time_zero"].as_u64().map(u64::cast_signed));
        (number("SAMPLE", &|body| body["time"].as_i64()).wrapping_sub(zero), zero)
    };
    let ((before, zero), (after, moved)) = (distance(&before), distance(&after));
    assert!(before == after && zero == clock.cast_signed() && moved != zero, "{before} {after} {moved}");
}

#[test]
fn what_is_told_in_places_that_nobody_looks_at_goes() {
    let folder = tempfile::tempdir().unwrap();
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
    let path = |name: &str| folder.path().join(name);
    let (edited, records, data, anonymous) = (path("e.jsonl"), path("e.data"), path("all.data"), path("a.data"));
    fs::write(&edited, lines.join("\n")).unwrap();
    let made = run(perfconv().arg(&edited).arg("-o").arg(&records));
    assert_eq!(made.status, 0, "{}", made.stderr);
    let mut passes = Passes::default();
    passes.push(Hide(hidden.as_bytes()));
    let mut sink = ToFile::new(fs::File::create(&data).unwrap(), Form::default());
    passes.run(Input::Path(records), &ReadOptions::default(), &mut sink).unwrap();
    let count = |path: &Path| memmem::find_iter(&bytes(path), hidden).count();
    assert_eq!(
        count(&data),
        2 * padded + 4,
        "behind names, features and attrs (told twice), in unknown records and features"
    );
    let made = run(perfconv().args(["rewrite", "--anonymize"]).arg(&data).arg("-o").arg(&anonymous));
    assert_eq!((made.status, count(&anonymous)), (0, 0), "{}", made.stderr);
    for gone in ["201 records (", "the feature 60 ("] {
        assert!(made.stderr.contains(gone), "{}", made.stderr);
    }
}

#[test]
fn what_is_told_to_be_ids_of_events_is_not_told_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.data"), folder.path().join("out.data"));
    let mut damaged = fs::read(fixture("plain.data")).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    // All from the ids on is told to be ids: the records, and the features behind them.
    let size_at = (word(&damaged, 24) + word(&damaged, 16)) as usize - 8;
    let size = (damaged.len() as u64 - word(&damaged, size_at - 8)) / 8 * 8;
    damaged[size_at..size_at + 8].copy_from_slice(&size.to_le_bytes());
    fs::write(&input, &damaged).unwrap();
    rewritten(&input, &output, &["--anonymize"]).unwrap();
    let made = bytes(&output);
    assert!(made.len() as u64 > size, "the ids are still there");
    for secret in [&b"/usr/lib/"[..], b"/libc.so", b"loop-pie"] {
        assert!(memmem::find(&damaged, secret).is_some(), "{}", shown(secret));
        // Of what is not at a multiple of 8, whole words are enough.
        let words = memmem::find_iter(&damaged, secret).map(|at| &damaged[at.next_multiple_of(8)..][..8]);
        for word in words.filter(|word| word.iter().all(u8::is_ascii_graphic)).chain([secret]) {
            assert!(memmem::find(&made, word).is_none(), "{}", shown(word));
        }
    }
}

#[test]
fn ids_of_events_are_others_and_the_same_wherever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    for (input, least) in
        [("two-events.data", 2), ("group-read.data", 2), ("pipe-grouped.data", 4), ("tracepoints.data", 4)]
    {
        rewritten(&fixture(input), &output, &["--anonymize"]).unwrap();
        let [before, after] = [&fixture(input), &output].map(|path| {
            let text = json(path).unwrap();
            let (mut told, mut used) = (BTreeSet::new(), BTreeMap::new());
            for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let object: Value = serde_json::from_slice(line).unwrap();
                let is_told = ["HEADER_ATTR", "ID_INDEX"].iter().any(|kind| object["record"] == *kind)
                    || object["attr"].is_object()
                    || object["feature"] == "EVENT_DESC";
                ids_in("", &object, &mut |id| {
                    if is_told {
                        told.insert(id);
                    } else {
                        *used.entry(id).or_insert(0) += 1;
                    }
                });
            }
            used.remove(&0);
            (told, used)
        });
        let counts = |used: &BTreeMap<u64, usize>| {
            let mut counts: Vec<_> = used.values().copied().collect();
            counts.sort_unstable();
            counts
        };
        assert!(before.0.len() >= least && !before.1.is_empty(), "{input}: {before:?}");
        assert_eq!((before.0.len(), counts(&before.1)), (after.0.len(), counts(&after.1)), "{input}");
        assert!(after.1.keys().all(|id| after.0.contains(id)), "{input}: {after:?}");
        assert!(before.0.is_disjoint(&after.0), "{input}");
    }
}

/// All ids of events in a line of JSON.
fn ids_in(key: &str, value: &Value, take: &mut impl FnMut(u64)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| ids_in(key, value, take)),
        Value::Array(items) => items.iter().for_each(|item| ids_in(key, item, take)),
        Value::Number(number) if ["id", "ids", "identifier", "stream_id"].contains(&key) => {
            take(number.as_u64().expect("an id"));
        }
        _ => {}
    }
}

/// Hides text in a feature that nobody knows, behind one that all know, and behind what is known of an event.
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
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr();
    writeln!(out, "anonymize: {line}").unwrap();
}
