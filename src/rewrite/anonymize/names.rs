//! Replaces names.

use super::key::{Key, NAME};
use super::vocabulary::{self, DELETED, FILE_ENDS, MAP_STARTS, MAPS};
use hashbrown::HashMap;
use perf_data::abi::hex::{from_hex, to_hex};

/// Buffer size of readers for a path, with its NUL.
const PATH_MAX: usize = 4096;

/// Maximum number of cached names. A replacement depends on the name and the key alone, so that any can be computed again.
const CACHED_NAMES: usize = 1 << 16;

/// A cache of replacements by name.
type NameCache = HashMap<Vec<u8>, Vec<u8>>;

/// Replaces names. Equal names get equal replacements whatever they name, so a thread named like its program still is.
#[derive(Debug)]
pub(crate) struct Names {
    key: Key,
    maps: NameCache,
    comms: NameCache,
}

impl Names {
    /// Creates the replacement for a key.
    pub(crate) fn new(key: &Key) -> Self {
        Self { key: key.clone(), maps: HashMap::new(), comms: HashMap::new() }
    }

    /// Replaces a name of any kind.
    pub(crate) fn name(&self, name: &[u8]) -> Vec<u8> {
        if name.is_empty() { Vec::new() } else { self.key.name(name).to_vec() }
    }

    /// Replaces the name of a mapping. Common names of mappings without a file are kept, without details such as thread IDs.
    pub(crate) fn map(&mut self, name: &[u8]) -> &[u8] {
        let Self { key, maps, .. } = self;
        cached(maps, name, || map(key, name))
    }

    /// Replaces a thread name.
    pub(crate) fn comm(&mut self, comm: &[u8]) -> &[u8] {
        let Self { key, comms, .. } = self;
        cached(comms, comm, || {
            if comm.is_empty() || vocabulary::has(vocabulary::COMMS, comm) {
                comm.to_vec()
            } else {
                key.name(comm).to_vec()
            }
        })
    }

    /// Replaces each component of a path.
    pub(crate) fn path(&self, path: &[u8]) -> Vec<u8> {
        replace_path(&self.key, path)
    }

    /// Replaces the name of a kernel symbol.
    pub(crate) fn symbol(&self, name: &[u8]) -> Vec<u8> {
        if name.is_empty() || vocabulary::has(vocabulary::SYMBOLS, name) {
            return name.to_vec();
        }
        if let Some(program) = name.strip_prefix(b"bpf_prog_") {
            // bpf_prog_TAG_NAME.
            let (tag, program_name) = program.split_at(program.len().min(16));
            let program_name = program_name.strip_prefix(b"_").unwrap_or(program_name);
            if let Some(tag) = from_hex(tag).and_then(|tag| <[u8; 8]>::try_from(tag).ok()) {
                let mut symbol = format!("bpf_prog_{}", to_hex(&self.tag(tag))).into_bytes();
                if !program_name.is_empty() {
                    symbol.push(b'_');
                    symbol.extend(self.key.name(program_name));
                }
                return symbol;
            }
        }
        let start = vocabulary::SYMBOL_STARTS.iter().find(|start| name.starts_with(start.as_bytes()));
        [start.map_or(&b""[..], |start| start.as_bytes()), &self.key.name(name)].concat()
    }

    /// Replaces the tag of a BPF program, which is a hash of its instructions; zero is kept.
    pub(crate) fn tag(&self, tag: [u8; 8]) -> [u8; 8] {
        if tag == [0; 8] {
            return tag;
        }
        self.key.number("bpf tag", &[u64::from_le_bytes(tag)]).to_le_bytes()
    }

    /// Replaces what a distribution or builder appended to a version; its numbers are kept.
    pub(crate) fn version(&self, version: &[u8]) -> Vec<u8> {
        let is_number = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let len = version.iter().position(|byte| !is_number(byte)).unwrap_or(version.len());
        let (numbers, rest) = version.split_at(len);
        if rest.is_empty() { version.to_vec() } else { [numbers, b"-", &self.key.name(rest)].concat() }
    }
}

/// Returns the cached replacement of a name, or creates one.
fn cached<'a>(cache: &'a mut NameCache, name: &[u8], make: impl FnOnce() -> Vec<u8>) -> &'a [u8] {
    // A recording may have any number of names: memory must not grow with them.
    if cache.len() >= CACHED_NAMES && !cache.contains_key(name) {
        cache.clear();
    }
    cache.entry_ref(name).or_insert_with(make)
}

fn map(key: &Key, name: &[u8]) -> Vec<u8> {
    if let Some(file) = name.strip_suffix(DELETED.as_bytes()) {
        return [&map(key, file), DELETED.as_bytes()].concat();
    }
    if name.is_empty() || vocabulary::has(MAPS, name) {
        return name.to_vec();
    }
    if name.starts_with(b"[stack:") {
        return b"[stack]".to_vec();
    }
    if let Some(guest) = name.strip_prefix(b"[guest.kernel.kallsyms") {
        // The process ID of the guest's hypervisor, by which perf identifies the guest, and the reference symbol.
        let pid = guest.strip_prefix(b".").map_or(0, |pid| 1 + pid.iter().take_while(|b| b.is_ascii_digit()).count());
        let (pid, symbol) = guest.split_at(pid);
        let symbol = [&b"]_stext"[..], b"]_text"].into_iter().find(|candidate| *candidate == symbol).unwrap_or(b"]");
        return [&b"[guest.kernel.kallsyms"[..], pid, symbol].concat();
    }
    if name.starts_with(b"[kernel.kallsyms]") {
        return b"[kernel.kallsyms]".to_vec();
    }
    if let Some(start) = MAP_STARTS.iter().find(|start| name.starts_with(start.as_bytes())) {
        let end: &[u8] = if start.starts_with('[') { b"]" } else { b"" };
        return [start.as_bytes(), &key.name(name), end].concat();
    }
    if name.starts_with(b"[") && name.ends_with(b"]") {
        return [&b"["[..], &key.name(name), b"]"].concat();
    }
    replace_path(key, name)
}

fn replace_path(key: &Key, path: &[u8]) -> Vec<u8> {
    let mut to = Vec::with_capacity(path.len() + 2 * NAME);
    for (index, name) in path.split(|&byte| byte == b'/').enumerate() {
        if index > 0 {
            to.push(b'/');
        }
        match name {
            b"" | b"." | b".." => to.extend(name),
            name => {
                to.extend(key.name(name));
                to.extend(type_suffix(name).as_bytes());
            }
        }
    }
    // Readers truncate longer paths: the whole path becomes a single name.
    if to.len() < PATH_MAX { to } else { [&b"/"[..], &key.name(path)].concat() }
}

/// The suffix of a file name that identifies its type.
fn type_suffix(name: &[u8]) -> &'static str {
    let is_library = name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.");
    let end = FILE_ENDS.iter().find(|end| name.ends_with(end.as_bytes()));
    if is_library { FILE_ENDS[0] } else { end.copied().unwrap_or("") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_file_names_and_keeps_special_names() {
        let mut names = Names::new(&Key::new(&[9; 16]).unwrap());
        let name = |name: &str| String::from_utf8(Key::new(&[9; 16]).unwrap().name(name.as_bytes()).to_vec()).unwrap();
        let (usr, app, libc) = (name("usr"), name("app"), name("libc.so.6"));
        for (path, to) in [
            ("/usr/app", format!("/{usr}/{app}")),
            ("/usr/libc.so.6 (deleted)", format!("/{usr}/{libc}.so (deleted)")),
            ("/usr/ext4.ko.xz", format!("/{usr}/{}.ko.xz", name("ext4.ko.xz"))),
            ("[vdso]", "[vdso]".into()),
            ("[stack:4711]", "[stack]".into()),
            ("//anon", "//anon".into()),
            ("[kernel.kallsyms]_text", "[kernel.kallsyms]_text".into()),
            ("[kernel.kallsyms]_secret", "[kernel.kallsyms]".into()),
            ("[guest.kernel.kallsyms.77]_text", "[guest.kernel.kallsyms.77]_text".into()),
            ("/memfd:jit (deleted)", format!("/memfd:{} (deleted)", name("/memfd:jit"))),
            ("[anon:secret]", format!("[anon:{}]", name("[anon:secret]"))),
            ("[ext4]", format!("[{}]", name("[ext4]"))),
            ("", String::new()),
        ] {
            assert_eq!(String::from_utf8_lossy(names.map(path.as_bytes())), to, "{path}");
        }
        assert_eq!(names.comm(b"app"), app.as_bytes());
        assert_eq!(names.comm(b"perf"), b"perf");
        let long = "/a".repeat(2000);
        assert_eq!(names.map(long.as_bytes()).len(), 1 + NAME);
    }

    #[test]
    fn a_bpf_program_and_its_symbol_have_the_same_tag() {
        let names = Names::new(&Key::new(&[9; 16]).unwrap());
        let symbol = names.symbol(b"bpf_prog_6deef7357e7b4530_secret");
        let tag = to_hex(&names.tag([0x6d, 0xee, 0xf7, 0x35, 0x7e, 0x7b, 0x45, 0x30]));
        assert!(symbol.starts_with(format!("bpf_prog_{tag}_").as_bytes()));
        assert_eq!(symbol.len(), 9 + 16 + 1 + NAME);
        assert!(names.symbol(b"bpf_trampoline_123").starts_with(b"bpf_trampoline_"));
        assert_eq!(names.symbol(b"ftrace_trampoline"), b"ftrace_trampoline");
    }

    #[test]
    fn keeps_the_numbers_of_a_version() {
        let names = Names::new(&Key::new(&[9; 16]).unwrap());
        assert_eq!(names.version(b"6.1.158"), b"6.1.158");
        assert!(names.version(b"6.1.0-42-amd64").starts_with(b"6.1.0-"));
        assert_eq!(names.version(b"6.1.0-42-amd64").len(), 6 + NAME);
    }
}
