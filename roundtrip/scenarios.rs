//! Recordings of the scenarios, in either byte order. They take part in all tests of recordings; the scenarios' expectations
//! about other readers are tested elsewhere.

use perf_data::abi::Endian;
use perf_data::container::read::Container;
use perf_data::container::write::frames::FrameOptions;
use perf_data::stream::write::directory::ToDirectory;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perfconv::synth::Scenario;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The recording of a scenario.
pub(crate) struct ScenarioRecording {
    pub name: String,
    pub path: PathBuf,
}

/// The recordings of all scenarios without intended corruption.
pub(crate) fn all() -> &'static [ScenarioRecording] {
    static ALL: OnceLock<Vec<ScenarioRecording>> = OnceLock::new();
    ALL.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenarios");
        fs::create_dir_all(&dir).expect("creating the directory should succeed");
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let paths =
            fs::read_dir(scenarios).expect("the scenarios should exist").map(|entry| entry.expect("a file").path());
        let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        paths.sort();
        paths
            .iter()
            .flat_map(|path| [Endian::Little, Endian::Big].map(|endian| generate(path, endian, &dir)))
            .flatten()
            .collect()
    })
}

fn generate(path: &Path, endian: Endian, dir: &Path) -> Option<ScenarioRecording> {
    let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
    let text = fs::read_to_string(path).expect("a scenario should be readable");
    let scenario = Scenario::parse(path.to_str().expect("a path"), &text).expect("a scenario");
    if scenario.damage.is_some() {
        return None;
    }
    let scenario = scenario.with_endian(endian);
    let order = if endian == Endian::Big { "big" } else { "little" };
    let path = dir.join(format!("{name} ({order}).data"));
    let frames = scenario
        .compress
        .map_or(CompressedFrames::Kept, |kind| CompressedFrames::Compressed(FrameOptions { kind, level: 3 }));
    let form = Form { frames, ..Form::default() };
    // Another test process may have the file open; its contents are the same.
    if scenario.container == Container::Directory {
        if !path.exists() {
            let new = tempfile::tempdir_in(dir).expect("creating the directory should succeed");
            scenario.run(1, &mut ToDirectory::new(new.path(), form)).expect("building a recording should succeed");
            drop(fs::rename(new.path(), &path));
        }
    } else {
        let (bytes, ..) = scenario.to_bytes(1, scenario.container, form).expect("building a recording should succeed");
        if fs::read(&path).ok().as_ref() != Some(&bytes) {
            fs::write(&path, &bytes).expect("the file should be writable");
        }
    }
    Some(ScenarioRecording { name, path })
}
