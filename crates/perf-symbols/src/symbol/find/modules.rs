//! Candidate paths of kernel modules: as recorded, compressed or not, or by name in `/lib/modules/RELEASE`.

use super::SearchOptions;
use super::candidate_paths::below;
use crate::object::recorded_file;
use perf_data::session::kernel_names::module_name;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Suffixes of compressed modules.
const COMPRESSED: [&str; 3] = [".xz", ".zst", ".gz"];

/// Maximum size of `modules.dep`. That of a distribution's kernel has less than a megabyte.
const MAX_INDEX: u64 = 64 << 20;

/// The path of a module without the suffix of its compression.
pub(crate) fn without_compression(path: &Path) -> &Path {
    let Some(text) = path.to_str() else { return path };
    let plain = COMPRESSED.iter().find_map(|suffix| text.strip_suffix(suffix));
    plain.filter(|plain| plain.ends_with(".ko")).map_or(path, Path::new)
}

/// Candidates for a module's file.
pub(crate) fn module_paths(options: &SearchOptions, recorded: &Path) -> Vec<PathBuf> {
    let root = options.symfs.as_deref().unwrap_or(Path::new("/"));
    // Since /usr is merged, /lib is a link, which a copy of the files may lack.
    let relative = recorded.strip_prefix("/").ok();
    let mut files: Vec<PathBuf> = match relative {
        Some(relative) => vec![relative.to_owned(), Path::new("usr").join(relative)],
        None => Vec::new(),
    };
    if relative.is_none()
        && let (Some(release), Some(name)) = (&options.release, module_name(recorded))
    {
        let directories = ["lib/modules", "usr/lib/modules"].map(|directory| Path::new(directory).join(release));
        let indexed = |directory: PathBuf| Some(directory.join(in_index(&root.join(&directory), &name)?));
        files.extend(directories.into_iter().find_map(indexed));
    }
    let mut places = Vec::new();
    for file in &files {
        let Some(plain) = below(root, without_compression(file)) else { continue };
        let compressed = COMPRESSED.iter().map(|suffix| {
            let mut path = plain.clone().into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        });
        places.extend(std::iter::once(plain.clone()).chain(compressed));
    }
    places
}

/// The path of a module in a directory of modules, from its `modules.dep`: lines `PATH: DEPENDENCIES`.
fn in_index(directory: &Path, name: &str) -> Option<PathBuf> {
    let path = directory.join("modules.dep");
    let mut text = String::new();
    recorded_file::open(&path).ok()?.take(MAX_INDEX).read_to_string(&mut text).ok()?;
    let files = text.lines().filter_map(|line| line.split_once(':')).map(|(file, _)| Path::new(file));
    files.filter(|file| file.is_relative()).find(|file| module_name(file).as_deref() == Some(name)).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_searched_by_path_and_by_name() {
        let root = tempfile::tempdir().unwrap();
        let options = SearchOptions { release: Some("6.1".to_owned()), ..SearchOptions::default() };
        let options = options.with_symfs(root.path());
        let paths = module_paths(&options, Path::new("/lib/modules/6.1/fs/xfs.ko.xz"));
        let expected = ["lib/modules/6.1/fs/xfs.ko", "lib/modules/6.1/fs/xfs.ko.xz"].map(|path| root.path().join(path));
        assert_eq!((paths.len(), &paths[..2]), (8, &expected[..]));
        assert!(module_paths(&options, Path::new("/lib/../xfs.ko")).is_empty());
        let directory = root.path().join("usr/lib/modules/6.1");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("modules.dep"), "kernel/net/nf-nat.ko.zst: kernel/x.ko\n/etc/a.ko:\n").unwrap();
        let paths = module_paths(&options, Path::new("[nf_nat]"));
        assert_eq!(paths[0], directory.join("kernel/net/nf-nat.ko"));
        assert!(module_paths(&options, Path::new("[a]")).is_empty());
    }
}
