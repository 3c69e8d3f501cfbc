//! Downloads files from debuginfod servers to the cache that debuginfod's clients share: `BUILDID/debuginfo`, `BUILDID/executable`
//! and, of a source file, `BUILDID/source##its#path`. An empty file there marks a file that no server has.

use super::attempt::{Attempt, Outcome, Role};
use super::candidate_paths::in_debuginfod_cache;
use super::fetch::{Fetch, Notice, Wanted};
use crate::object::build_id_note::{self, Elf};
use perf_data::container::temp_directory::TempDirectory;
use perf_data::progress::{Progress, Work};
use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use ureq::Agent;

/// Limits of downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time to connect to a server.
    pub connect: Duration,
    /// Time until a server answers, and between parts of its answer. A server may have to unpack a file first.
    pub answer: Duration,
    /// Time for a file.
    pub total: Duration,
    /// Size of a file.
    pub size: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // 90 seconds are the default of `DEBUGINFOD_TIMEOUT` in elfutils.
        let [connect, answer, total] = [10, 90, 600].map(Duration::from_secs);
        Self { connect, answer, total, size: 4 << 30 }
    }
}

impl Limits {
    /// The limits that the variables of debuginfod's clients set: `DEBUGINFOD_TIMEOUT`, `DEBUGINFOD_MAXTIME`,
    /// `DEBUGINFOD_MAXSIZE`.
    pub fn from_environment() -> Self {
        let number = |name: &str| env::var(name).ok()?.parse().ok().filter(|&number: &u64| number > 0);
        let mut limits = Self::default();
        limits.answer = number("DEBUGINFOD_TIMEOUT").map_or(limits.answer, Duration::from_secs);
        limits.total = number("DEBUGINFOD_MAXTIME").map_or(limits.total, Duration::from_secs);
        limits.size = number("DEBUGINFOD_MAXSIZE").unwrap_or(limits.size);
        limits
    }
}

/// How long a file that no server has is not asked for again; the default of elfutils, whose cache this is (`cache_miss_s`).
const MISSING: Duration = Duration::from_secs(600);

/// Maximum length of the name of a file.
const MAX_FILE_NAME: usize = 255;

/// A client of debuginfod servers.
#[derive(Debug)]
pub struct Debuginfod {
    servers: Vec<String>,
    cache: PathBuf,
    limits: Limits,
    agent: Agent,
    announce: Option<fn(&Notice)>,
    progress: Progress,
    /// Servers that did not answer; they are not asked again.
    failed: Mutex<BTreeSet<String>>,
}

/// Why a server did not provide a file.
enum Failure {
    /// It answered that it has none.
    NotFound,
    /// It could not be used, for this reason.
    Server(String),
    /// The file could not be used or stored.
    File(String),
}

impl Debuginfod {
    /// Creates a client of the servers with these URLs, separated by spaces; `None` if there is none.
    pub fn new(urls: &str, cache: &Path, limits: Limits, announce: Option<fn(&Notice)>) -> Option<Self> {
        // Other words set policies of debuginfod's own client.
        let is_url = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
        let servers: Vec<_> =
            urls.split_whitespace().filter(is_url).map(|url| url.trim_end_matches('/').to_owned()).collect();
        let config = Agent::config_builder()
            .timeout_connect(Some(limits.connect))
            .timeout_recv_response(Some(limits.answer))
            .timeout_per_read(Some(limits.answer))
            .timeout_global(Some(limits.total))
            .http_status_as_error(false)
            .user_agent(concat!("perfconv/", env!("CARGO_PKG_VERSION")));
        let agent = Agent::from(config.build());
        let (cache, failed) = (cache.to_owned(), Mutex::default());
        (!servers.is_empty()).then_some(Self {
            servers,
            cache,
            limits,
            agent,
            announce,
            progress: Progress::default(),
            failed,
        })
    }

    /// Sets the observer of progress.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    fn announce(&self, notice: &Notice) {
        if let Some(announce) = self.announce {
            announce(notice);
        }
    }

    fn failed(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Downloads a file to its place in the cache.
    fn download(&self, url: &str, wanted: &Wanted<'_>, to: &Path) -> Result<(), Failure> {
        let server = |e: ureq::Error| Failure::Server(e.to_string());
        let mut response = self.agent.get(url).call().map_err(server)?;
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Err(Failure::NotFound),
            status => return Err(Failure::File(format!("the server answered with status {status}"))),
        }
        let limit = self.limits.size;
        let too_large = || Failure::File(format!("the file is larger than {limit} bytes"));
        let length = response.body().content_length();
        if length.is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let size = length.map_or_else(String::new, |length| format!(", {} KiB", length.div_ceil(1024)));
        self.announce(&Notice::Started(format!("{}: downloading {url}{size}", wanted.object.display())));
        let stored = |e: io::Error| Failure::File(format!("cannot write {}: {e}", to.display()));
        // In the directory of the file, so that it can be renamed, and removed if a signal ends the program.
        let directory = to.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(stored)?;
        let directory = TempDirectory::new(Some(directory)).map_err(stored)?;
        let temporary = directory.path().join("file");
        let mut file = File::create(&temporary).map_err(stored)?;
        let task = self.progress.begin(Work::Downloading, url, length);
        let (mut body, mut buffer, mut left) = (response.body_mut().as_reader(), vec![0; 1 << 16], limit);
        loop {
            let read = match body.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Failure::Server(e.to_string())),
            };
            left = left.checked_sub(read as u64).ok_or_else(too_large)?;
            file.write_all(&buffer[..read]).map_err(stored)?;
            task.add(read as u64);
        }
        drop(file);
        let is_wanted = || build_id_note::read(&temporary).ok() == Some(Elf::Id(wanted.build_id));
        if wanted.role != Role::Source && !is_wanted() {
            return Err(Failure::File("the file has another build ID".to_owned()));
        }
        fs::rename(&temporary, to).map_err(stored)
    }

    /// Asks the servers in turn; whether the file is in the cache now.
    fn ask(&self, wanted: &Wanted<'_>, kind: &str, to: &Path, attempts: &mut Vec<Attempt>) -> bool {
        let (mut is_missing, mut first) = (true, None);
        for server in &self.servers {
            let url = format!("{server}/buildid/{}/{kind}", wanted.build_id);
            if self.failed().contains(server) {
                is_missing = false;
                continue;
            }
            let outcome = match self.download(&url, wanted, to) {
                Ok(()) => {
                    attempts.push(Attempt { role: wanted.role, path: url.into(), outcome: Outcome::Downloaded });
                    return true;
                }
                Err(Failure::NotFound) => Outcome::Unsuitable("the server has no such file"),
                Err(Failure::Server(why)) => {
                    is_missing = false;
                    self.failed().insert(server.clone());
                    first.get_or_insert_with(|| format!("{server}: {why}; the server is not asked again"));
                    Outcome::Unreadable(why)
                }
                Err(Failure::File(why)) => {
                    is_missing = false;
                    first.get_or_insert_with(|| format!("{url}: {why}"));
                    Outcome::Unreadable(why)
                }
            };
            attempts.push(Attempt { role: wanted.role, path: url.into(), outcome });
        }
        if is_missing {
            // Clients without permission to write ask again.
            let mark = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(to));
            drop(mark);
        }
        // An object without its debug file may still be found itself.
        let is_worth_a_warning = first.is_some() || is_missing && wanted.role == Role::DebugFile;
        if is_worth_a_warning {
            let why = first.unwrap_or_else(|| format!("no debuginfod server has its {kind}"));
            let object = wanted.object.display();
            self.announce(&Notice::Failed(format!("{object} (build ID {}): {why}", wanted.build_id)));
        }
        false
    }
}

impl Fetch for Debuginfod {
    fn fetch(&self, wanted: &Wanted<'_>, attempts: &mut Vec<Attempt>) -> Option<PathBuf> {
        let kind = if wanted.role == Role::Object { "executable" } else { "debuginfo" };
        let path = in_debuginfod_cache(&self.cache, &wanted.build_id, kind);
        // A file that was there before has been tried.
        match Cached::new(&path) {
            Cached::File | Cached::Missing => None,
            Cached::Unknown => self.ask(wanted, kind, &path, attempts).then_some(path),
        }
    }

    fn fetch_source(&self, object: &Wanted<'_>, path: &str) -> Option<PathBuf> {
        let name = format!("source#{}", path.replace('/', "#"));
        if !path.starts_with('/') || name.len() > MAX_FILE_NAME {
            return None;
        }
        let cached = in_debuginfod_cache(&self.cache, &object.build_id, &name);
        let is_there = match Cached::new(&cached) {
            Cached::File => true,
            Cached::Missing => false,
            Cached::Unknown => self.ask(object, &format!("source{}", in_url(path)), &cached, &mut Vec::new()),
        };
        is_there.then_some(cached)
    }
}

/// What the cache has of a file.
enum Cached {
    File,
    /// A mark that no server has it.
    Missing,
    Unknown,
}

impl Cached {
    fn new(path: &Path) -> Self {
        let Ok(metadata) = fs::symlink_metadata(path) else { return Self::Unknown };
        let is_recent = metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age < MISSING));
        match metadata.len() {
            0 if is_recent => Self::Missing,
            0 => Self::Unknown,
            _ => Self::File,
        }
    }
}

/// A path as a part of a URL.
fn in_url(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbol::object::tests::image;
    use perf_data::abi::Endian;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Instant;

    /// How a test's server answers.
    #[derive(Clone)]
    enum Answer {
        File(Vec<u8>),
        Status(&'static str),
        Hang,
        /// Part of a file.
        HangWithin(Vec<u8>),
    }

    /// A server that answers so many requests; its URL and the paths that are requested.
    fn server(answers: Vec<Answer>) -> (String, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let run = move || {
            let (mut paths, mut open) = (Vec::new(), Vec::new());
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let first = lines.next().unwrap();
                paths.push(first.split(' ').nth(1).unwrap().to_owned());
                lines.find(String::is_empty);
                let head = |status: &str, len: usize| {
                    format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n").into_bytes()
                };
                let bytes = match answer {
                    Answer::File(file) => [head("200 OK", file.len()), file].concat(),
                    Answer::Status(status) => head(status, 0),
                    Answer::HangWithin(file) => [head("200 OK", file.len() + 1), file].concat(),
                    Answer::Hang => Vec::new(),
                };
                let _ = stream.write_all(&bytes);
                open.push(stream);
            }
            paths
        };
        (url, thread::spawn(run))
    }

    struct Fetched {
        path: Option<PathBuf>,
        outcomes: Vec<Outcome>,
    }

    fn fetch(client: &Debuginfod, role: Role) -> Fetched {
        let build_id = crate::object::build_id_note::find_in_bytes(&image(62, true, Endian::Little)).unwrap();
        let mut attempts = Vec::new();
        let path = client.fetch(&Wanted { object: Path::new("/bin/app"), build_id, role }, &mut attempts);
        Fetched { path, outcomes: attempts.into_iter().map(|attempt| attempt.outcome).collect() }
    }

    fn limits() -> Limits {
        Limits { answer: Duration::from_millis(300), ..Limits::default() }
    }

    #[test]
    fn files_are_stored_in_the_cache() {
        let file = image(62, true, Endian::Little).to_vec();
        let (url, requests) = server(vec![Answer::File(file.clone())]);
        let cache = tempfile::tempdir().unwrap();
        let client = Debuginfod::new(&url, cache.path(), limits(), None).unwrap();
        let fetched = fetch(&client, Role::DebugFile);
        assert_eq!((fs::read(fetched.path.unwrap()).unwrap(), fetched.outcomes), (file, vec![Outcome::Downloaded]));
        let [path] = &requests.join().unwrap()[..] else { panic!("one request") };
        assert!(path.starts_with("/buildid/") && path.ends_with("/debuginfo"), "{path}");
        let inside = fs::read_dir(cache.path().join(path.split('/').nth(2).unwrap())).unwrap();
        assert_eq!(inside.count(), 1, "temporary files remain");
        assert!(fetch(&client, Role::DebugFile).path.is_none(), "what is in the cache has been tried");
    }

    #[test]
    fn source_files_are_fetched_once() {
        let text = b"int main() {}\n".to_vec();
        let (url, requests) = server(vec![Answer::File(text.clone()), Answer::Status("404 Not Found")]);
        let cache = tempfile::tempdir().unwrap();
        let client = Debuginfod::new(&url, cache.path(), limits(), None).unwrap();
        let build_id = crate::object::build_id_note::find_in_bytes(&image(62, true, Endian::Little)).unwrap();
        let fetch = |path: &str| {
            client.fetch_source(&Wanted { object: Path::new("/bin/app"), build_id, role: Role::Source }, path)
        };
        let paths = ["/usr/src/c++/a b.c"; 2].map(|path| fetch(path).unwrap());
        assert!(paths[0] == paths[1] && fs::read(&paths[0]).unwrap() == text);
        assert!(paths[0].ends_with("source##usr#src#c++#a b.c"), "{}", paths[0].display());
        assert!(fetch("relative.c").is_none() && fetch(&format!("/{}", "x".repeat(300))).is_none());
        assert!(["/missing.c"; 2].iter().all(|path| fetch(path).is_none()));
        let requests = requests.join().unwrap();
        let rests: Vec<_> = requests.iter().map(|path| path.splitn(4, '/').nth(3).unwrap()).collect();
        assert_eq!(rests, ["source/usr/src/c%2B%2B/a%20b.c", "source/missing.c"]);
    }

    #[test]
    fn missing_files_are_remembered_and_other_servers_asked() {
        let file = image(62, true, Endian::Little).to_vec();
        let [(first, _), (second, _)] =
            [vec![Answer::Status("404 Not Found"); 2], vec![Answer::Status("404 Not Found"), Answer::File(file)]]
                .map(server);
        let cache = tempfile::tempdir().unwrap();
        let client = Debuginfod::new(&format!("ima:off {first} {second}"), cache.path(), limits(), None).unwrap();
        let missing = Outcome::Unsuitable("the server has no such file");
        assert_eq!(fetch(&client, Role::DebugFile).outcomes, [missing.clone(), missing.clone()]);
        assert!(fetch(&client, Role::DebugFile).outcomes.is_empty());
        let fetched = fetch(&client, Role::Object);
        assert_eq!((fetched.path.is_some(), fetched.outcomes), (true, vec![missing, Outcome::Downloaded]));
    }

    #[test]
    fn servers_that_hang_are_not_asked_again() {
        let part = image(62, true, Endian::Little).to_vec();
        for answer in [Answer::Hang, Answer::HangWithin(part)] {
            let (url, _) = server(vec![answer, Answer::Status("404 Not Found")]);
            let cache = tempfile::tempdir().unwrap();
            let client = Debuginfod::new(&url, cache.path(), limits(), None).unwrap();
            let start = Instant::now();
            let [Outcome::Unreadable(why)] = &fetch(&client, Role::DebugFile).outcomes[..] else { panic!("fails") };
            assert!(why.contains("timeout") && start.elapsed() < Duration::from_secs(20), "{why}");
            assert!(fetch(&client, Role::Object).outcomes.is_empty());
            assert!(
                fs::read_dir(cache.path())
                    .unwrap()
                    .flatten()
                    .all(|directory| { fs::read_dir(directory.path()).unwrap().count() == 0 })
            );
        }
    }

    #[test]
    fn other_files_and_large_files_are_rejected() {
        let file = image(3, true, Endian::Little).to_vec();
        let (url, _) = server(vec![Answer::File(file.clone()), Answer::File(file), Answer::Status("500 Broken")]);
        let cache = tempfile::tempdir().unwrap();
        let client = |size| Debuginfod::new(&url, cache.path(), Limits { size, ..limits() }, None).unwrap();
        let why = |size| match &fetch(&client(size), Role::DebugFile).outcomes[..] {
            [Outcome::Unreadable(why)] => why.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(why(1 << 20), "the file has another build ID");
        assert_eq!(why(100), "the file is larger than 100 bytes");
        assert_eq!(why(100), "the server answered with status 500");
        assert!(Debuginfod::new("file:///srv", cache.path(), limits(), None).is_none());
    }
}
