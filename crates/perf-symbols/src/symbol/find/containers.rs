//! Files of containers on this machine: below the root directory of a living process, and in the layers of container storage.

use super::candidate_paths::below;
use perf_data::session::RecordedNamespaces;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// Maximum number of mount namespaces, and of layers of a storage, that are searched: each costs system calls for each object.
const MAX_ROOTS: usize = 4096;

/// Clock ticks per second of times in `/proc` (`USER_HZ`).
const TICKS: u64 = 100;

/// Directories with the layers of containers: the storage, and the directory of the files in each of its layers.
const STORAGE: [(&str, &str); 4] = [
    ("/var/lib/docker/overlay2", "diff"),
    ("/var/lib/containers/storage/overlay", "diff"),
    ("/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots", "fs"),
    ("~/.local/share/containers/storage/overlay", "diff"),
];

/// The containers of this machine. By default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containers {
    /// Where the process file system is mounted.
    proc: Option<PathBuf>,
    /// Directories with layers, and the directory of the files in each layer.
    storage: Vec<(PathBuf, &'static str)>,
    /// Other mount namespaces with their root directories, once they are needed.
    roots: Arc<OnceLock<Vec<(PathBuf, PathBuf)>>>,
    /// Directories of layers, once they are needed.
    layers: Arc<OnceLock<Vec<PathBuf>>>,
}

/// A process with namespaces of its own, whose files can still be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerProcess {
    /// Its root directory.
    pub root: PathBuf,
    /// Its ID in its own PID namespace, if known.
    pub own_pid: Option<u32>,
}

impl Containers {
    /// The containers of this machine.
    pub fn from_system() -> Self {
        let home = env::var_os("HOME").map(PathBuf::from);
        let storage = STORAGE.iter().filter_map(|&(path, files)| match path.strip_prefix("~/") {
            Some(path) => Some((home.as_ref()?.join(path), files)),
            None => Some((path.into(), files)),
        });
        Self { proc: Some("/proc".into()), storage: storage.collect(), ..Self::default() }
    }

    /// Mount namespaces other than that of this process, each with the root directory of one of its processes.
    fn roots(&self) -> &[(PathBuf, PathBuf)] {
        self.roots.get_or_init(|| {
            let Some(proc) = &self.proc else { return Vec::new() };
            let namespace = |process: &Path| fs::read_link(process.join("ns/mnt")).ok();
            let own = namespace(&proc.join("self"));
            let mut processes: Vec<u32> =
                entries(proc).filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect();
            processes.sort_unstable();
            let mut roots = BTreeMap::new();
            for pid in processes {
                let process = proc.join(pid.to_string());
                match namespace(&process) {
                    Some(namespace) if Some(&namespace) != own.as_ref() && roots.len() < MAX_ROOTS => {
                        roots.entry(namespace).or_insert_with(|| process.join("root"));
                    }
                    _ => {}
                }
            }
            roots.into_iter().collect()
        })
    }

    fn layers(&self) -> &[PathBuf] {
        self.layers.get_or_init(|| {
            let mut layers: Vec<PathBuf> = (self.storage.iter())
                .flat_map(|(storage, files)| entries(storage).take(MAX_ROOTS).map(move |layer| layer.join(files)))
                .collect();
            layers.sort_unstable();
            layers
        })
    }

    /// Existing files at a path in containers. The layers of storage include those of other versions of an image, so they are
    /// only for files that can be compared with the recorded one.
    pub fn files(&self, path: &Path, with_layers: bool) -> Vec<PathBuf> {
        let layers = if with_layers { self.layers() } else { &[] };
        let roots = self.roots().iter().map(|(_, root)| root);
        let paths = roots.chain(layers).filter_map(|root| below(root, path));
        paths.filter(|path| path.is_file()).collect()
    }

    /// The root directory that one of the [files](Self::files) is below.
    pub fn container_root(&self, file: &Path) -> Option<&Path> {
        // Not yet searched directories contain none of the files.
        let roots = self.roots.get().into_iter().flatten().map(|(_, root)| root);
        let all_roots = roots.chain(self.layers.get().into_iter().flatten());
        all_roots.map(PathBuf::as_path).find(|root| file.starts_with(root))
    }

    /// A recorded process, if it has a root directory or an ID of its own. It lives, or another process in its recorded mount
    /// namespace does.
    pub fn process(
        &self,
        pid: u32,
        namespaces: Option<RecordedNamespaces>,
        recorded: Option<SystemTime>,
    ) -> Option<ContainerProcess> {
        self.living(pid, namespaces, recorded).or_else(|| self.ended(pid, namespaces?))
    }

    /// A process that has ended, if its mount namespace has not.
    fn ended(&self, pid: u32, namespaces: RecordedNamespaces) -> Option<ContainerProcess> {
        let mount = PathBuf::from(format!("mnt:[{}]", namespaces.mount));
        let (_, root) = self.roots().iter().find(|(namespace, _)| *namespace == mount)?;
        let here = self.proc.as_ref().and_then(|proc| fs::read_link(proc.join("self/ns/pid")).ok());
        let has_pid_of_host = here == Some(format!("pid:[{}]", namespaces.pid).into());
        Some(ContainerProcess { root: root.clone(), own_pid: has_pid_of_host.then_some(pid) })
    }

    /// A living process. It must have started before the recording ended, and be in the recorded namespace, since a later process
    /// may have the same ID.
    fn living(
        &self,
        pid: u32,
        namespaces: Option<RecordedNamespaces>,
        recorded: Option<SystemTime>,
    ) -> Option<ContainerProcess> {
        let proc = self.proc.as_ref()?;
        let process = proc.join(pid.to_string());
        let status = fs::read_to_string(process.join("status")).ok()?;
        // The IDs from the outermost to the innermost namespace.
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        let own_pid = ids.split_ascii_whitespace().next_back()?.parse().ok()?;
        let is_other =
            |name: &str| fs::read_link(process.join(name)).ok() != fs::read_link(proc.join("self").join(name)).ok();
        let has_own = own_pid != pid || is_other("ns/mnt") || is_other("root");
        let is_later =
            || recorded.is_some_and(|recorded| start_time(proc, &process).is_none_or(|start| start > recorded));
        let is_recorded = namespaces.is_none_or(|recorded| {
            fs::read_link(process.join("ns/mnt")).ok() == Some(format!("mnt:[{}]", recorded.mount).into())
        });
        let process_root = || ContainerProcess { root: process.join("root"), own_pid: Some(own_pid) };
        (has_own && is_recorded && !is_later()).then(process_root)
    }
}

/// The paths in a directory; none if it cannot be read.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// When a process started, to the second.
fn start_time(proc: &Path, process: &Path) -> Option<SystemTime> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let system = fs::read_to_string(proc.join("stat")).ok()?;
    let boot = number(system.lines().find_map(|line| line.strip_prefix("btime "))?)?;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // The second field, a name in parentheses, may contain spaces; the 22nd is the time since boot.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = number(fields.split(' ').nth(19)?)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(boot.checked_add(ticks / TICKS)?))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A process file system with this process (1), another one beside it (2), and two of a container (70, 71).
    fn proc(root: &Path) {
        fs::create_dir_all(root.join("self/ns")).unwrap();
        symlink("mnt:[1]", root.join("self/ns/mnt")).unwrap();
        symlink("/", root.join("self/root")).unwrap();
        fs::write(root.join("stat"), "cpu 1 2\nbtime 1000\n").unwrap();
        for (pid, namespace, own_pid, ticks) in [(1, 1, 1, 0), (2, 1, 2, 0), (70, 5, 1, 500), (71, 5, 2, 900)] {
            let process = root.join(pid.to_string());
            fs::create_dir_all(process.join("ns")).unwrap();
            symlink(format!("mnt:[{namespace}]"), process.join("ns/mnt")).unwrap();
            let target = if namespace == 1 { PathBuf::from("/") } else { root.join("container") };
            symlink(target, process.join("root")).unwrap();
            fs::write(process.join("status"), format!("Name:\tx\nNSpid:\t{pid}\t{own_pid}\nX:\t1\n")).unwrap();
            let fields = ["S"; 19].join(" ");
            fs::write(process.join("stat"), format!("{pid} (a ) b) {fields} {ticks} 0 0\n")).unwrap();
        }
        fs::create_dir_all(root.join("container/bin")).unwrap();
        fs::write(root.join("container/bin/app"), "x").unwrap();
    }

    #[test]
    fn files_are_below_the_roots_of_other_namespaces_and_in_layers() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        proc(root);
        let layer = root.join("overlay2/l1/diff");
        fs::create_dir_all(layer.join("bin")).unwrap();
        fs::write(layer.join("bin/app"), "x").unwrap();
        let storage = vec![(root.join("overlay2"), "diff")];
        let containers = Containers { proc: Some(root.to_owned()), storage, ..Containers::default() };
        assert_eq!(containers.roots(), [("mnt:[5]".into(), root.join("70/root"))]);
        let [of_process, of_layer] = [root.join("70/root/bin/app"), layer.join("bin/app")];
        assert_eq!(containers.files(Path::new("/bin/app"), true), [of_process.clone(), of_layer.clone()]);
        assert_eq!(containers.files(Path::new("/bin/app"), false), [of_process]);
        assert!(containers.files(Path::new("/bin/other"), true).is_empty());
        assert_eq!(containers.container_root(&of_layer), Some(&*layer));
        assert!(Containers::default().files(Path::new("/bin/app"), true).is_empty());
    }

    #[test]
    fn processes_that_started_after_the_recording_are_others() {
        let directory = tempfile::tempdir().unwrap();
        proc(directory.path());
        let containers = Containers { proc: Some(directory.path().to_owned()), ..Containers::default() };
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(containers.process(70, None, at(1006)).unwrap().own_pid, Some(1));
        assert_eq!(containers.process(71, None, None).unwrap().own_pid, Some(2));
        assert_eq!(containers.process(71, None, at(1006)), None, "started at 1009");
        assert_eq!(containers.process(2, None, at(1006)), None, "has no namespaces of its own");
        assert_eq!(containers.process(9, None, None), None);
    }

    #[test]
    fn recorded_namespaces_identify_processes() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        proc(root);
        symlink("pid:[3]", root.join("self/ns/pid")).unwrap();
        let containers = Containers { proc: Some(root.to_owned()), ..Containers::default() };
        let process = |id, mount, pid| containers.process(id, Some(RecordedNamespaces { mount, pid }), None);
        let in_container = |own_pid| Some(ContainerProcess { root: root.join("70/root"), own_pid });
        assert_eq!(process(70, 5, 4), in_container(Some(1)));
        assert_eq!(process(70, 6, 4), None, "the ID is of another process now");
        assert_eq!(process(9, 5, 4), in_container(None), "ended in a living container");
        assert_eq!(process(9, 5, 3), in_container(Some(9)), "with the PID namespace of the host");
        assert_eq!(process(9, 1, 3), None, "ended on the host");
    }
}
