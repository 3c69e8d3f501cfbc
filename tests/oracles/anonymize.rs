//! Anonymization: perf prints the same stacks of an anonymized recording.

use crate::common::anonymize::{Contents, json, key, lossy, may_be_preserved, vocabulary, words_of};
use crate::common::files::{Recording, has_corpus, share};
use crate::common::program::rewrite;
use crate::common::program::{for_each, run_other, with_time_limit};
use memchr::memmem;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

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
            note!("anonymize: perf cannot record here; skipped kernel symbols");
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
    note!(
        "anonymize: {files} of {} recordings compared with perf script: {samples} samples with {frames} frames, {symbols} with a symbol",
        all.len()
    );
    skipped.iter().for_each(|(reason, count)| note!("anonymize: skipped {count}: {reason}"));
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
        note!("anonymize: skipped: no C compiler, or perf cannot record here");
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
    note!("anonymize: {} samples of a program: {in_leaf} frames have its symbol, found by build ID", before.len());
}
