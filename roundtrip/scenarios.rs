//! Recordings that are made up by the scenarios, in either byte order. They go the way of the real ones; what other readers see
//! in them the scenarios say themselves, and another test compares.

use perfconv::abi::Endian;
use perfconv::container::read::Container;
use perfconv::container::write::frames::FrameOptions;
use perfconv::stream::write::directory::ToDirectory;
use perfconv::stream::write::form::{Form, Frames};
use perfconv::synth::Scenario;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What a scenario makes.
pub struct SyntheticSpace {
    pub name: String,
    pub path: PathBuf,
}

/// The recordings of all scenarios that are not damaged: what is wrong with others is a matter of who reads them.
pub fn all() -> &'static [SyntheticSpace] {
    static ALL: OnceLock<Vec<SyntheticSpace>> = OnceLock::new();
    ALL.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenarios");
        fs::create_dir_all(&folder).expect("a folder can be made");
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let found = fs::read_dir(scenarios).expect("there are scenarios").map(|entry| entry.expect("a file").path());
        let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        found.sort();
        found
            .iter()
            .flat_map(|path| [Endian::Little, Endian::Big].map(|endian| made(path, endian, &folder)))
            .flatten()
            .collect()
    })
}

fn made(path: &Path, endian: Endian, folder: &Path) -> Option<SyntheticSpace> {
    let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
    let text = fs::read_to_string(path).expect("a scenario can be read");
    let scenario = Scenario::parse(path.to_str().expect("a path"), &text).expect("a scenario");
    if scenario.damage.is_some() {
        return None;
    }
    let scenario = scenario.on_machine_of(endian);
    let order = if endian == Endian::Big { "big" } else { "little" };
    let path = folder.join(format!("{name} ({order}).data"));
    let frames = scenario.compress.map_or(Frames::Kept, |kind| Frames::Compressed(FrameOptions { kind, level: 3 }));
    let form = Form { frames, ..Form::default() };
    // Another run of the tests may have it open, and it is the same.
    if scenario.container == Container::Directory {
        if !path.exists() {
            let new = tempfile::tempdir_in(folder).expect("a folder can be made");
            scenario.run(1, &mut ToDirectory::new(new.path(), form)).expect("a recording can be made");
            drop(fs::rename(new.path(), &path));
        }
    } else {
        let (bytes, ..) = scenario.to_bytes(1, scenario.container, form).expect("a recording can be made");
        if fs::read(&path).ok().as_ref() != Some(&bytes) {
            fs::write(&path, &bytes).expect("a file can be written");
        }
    }
    Some(SyntheticSpace { name, path })
}
