//! Names of JIT code, compared with `perf inject --jit` and with perf's own reading of map files.

use crate::common::files::has_corpus;
use crate::common::jit::{
    ADDRESS, CODE, DumpBuilder, contents, dump_of_ours, ours, path, relocate, rewrite, with_dump,
};
use crate::common::program::{perfconv, run, run_other, with_time_limit};
use perf_data::abi::Endian;
use perf_data::abi::jitdump::record::RecordKind;
use perf_symbols::object::jit_dump::{Dump, EventKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/own").join(name)
}

/// The symbols of frames that perf prints, and the number of frames in files with a name prefix; `None` if perf is not installed.
fn names(path: &Path, object: &str) -> Option<(Vec<String>, usize)> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "-f", "-F", "comm,tid,time,ip,sym,symoff,dso", "-i"]).arg(path).env("LC_ALL", "C");
    let run = run_other(perf.env_remove("DEBUGINFOD_URLS"));
    if run.status == 127 {
        return None;
    }
    assert_eq!(run.status, 0, "{}: {}", path.display(), run.stderr);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let is_inside = |line: &&str| line.rsplit('/').next().is_some_and(|file| file.starts_with(object));
    let inside = text.lines().filter(is_inside).count();
    // Skip the address, which is relative to the object, and the object, which differs.
    let name = |line: &str| match line.strip_prefix('\t') {
        None => line.to_owned(),
        Some(frame) => {
            let (frame, _) = frame.rsplit_once(" (").expect("an object");
            frame.trim_start().split_once(' ').expect("an address and a name").1.to_owned()
        }
    };
    Some((text.lines().map(name).collect(), inside))
}

/// Reads a file in an archive of the corpus.
fn in_archive(archive: &str, name: &str) -> Vec<u8> {
    let archive = corpus(archive);
    let list = run_other(with_time_limit("tar").args(["--zstd", "-tf"]).arg(&archive));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let entry = list.lines().find(|line| line.ends_with(name)).expect("the corpus should contain the file");
    run_other(with_time_limit("tar").args(["--zstd", "-xOf"]).arg(&archive).arg(entry)).stdout
}

#[test]
fn jitdump_names_match_perf_inject() {
    let test = "jit";
    let mut cases = vec![(ours("java.data"), "jit-11901.dump", dump_of_ours())];
    if has_corpus(test) {
        let of = |archive, name: &'static str| (name, in_archive(archive, name));
        let (name, dump) = of("jit-p612b.tar.zst", "jit-11887.dump");
        cases.push((corpus("p612b/jit-node.data"), name, dump));
        let (name, dump) = of("jit-p72-java.tar.zst", "jit-21363.dump");
        cases.push((corpus("p72/jit-java.data"), name, dump));
    }
    for (recording, name, dump) in cases {
        let dir = tempfile::tempdir().unwrap();
        let relocated = relocate(&dir, &recording, name, &dump);
        let injected = path(&dir, "perf.data");
        let mut perf = with_time_limit("perf");
        perf.args(["inject", "-f", "--jit", "-i"]).arg(&relocated).arg("-o").arg(&injected).current_dir(dir.path());
        match run_other(&mut perf) {
            perf if perf.status == 127 => return note!("{test}: skipped: no perf"),
            perf => assert_eq!(perf.status, 0, "{}", perf.stderr),
        }
        let (by_perf, inside) = names(&injected, "jitted-").expect("perf should be installed");
        assert!(inside >= 20, "{name}: perf finds only {inside} frames");
        let object = name.replace(".dump", ".so");
        let converted = path(&dir, "converted.data");
        for args in [&[][..], &["--container", "pipe"], &["--compress"], &["--sort", "--container", "dir"]] {
            let _ = fs::remove_dir_all(&converted);
            let _ = fs::remove_file(&converted);
            rewrite(&relocated, &converted, args);
            let output = path(&dir, "ours.data");
            rewrite(&converted, &output, &["--jit", "--container", "file"]);
            let (names, inside_ours) = names(&output, &object).expect("perf should be installed");
            assert_eq!((names == by_perf, inside_ours), (true, inside), "{name} {args:?}");
        }
        let output = path(&dir, "alias.data");
        let run = run(perfconv().args(["inject", "-j", "-i"]).arg(&relocated).arg("-o").arg(&output));
        assert_eq!((run.status, names(&output, &object)), (0, Some((by_perf.clone(), inside))), "{}", run.stderr);
        note!("{test}: {name}: {} lines are equal, {inside} of them in JIT code", by_perf.len());
    }
}

#[test]
fn map_file_names_match_perf() {
    let test = "map files";
    if !has_corpus(test) {
        return;
    }
    for (recording, file) in [("perfmap-node.data", "perf-9659.map"), ("perfmap-java.data", "perf-9854.map")] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(path(&dir, file), in_archive("jit-p612b.tar.zst", file)).unwrap();
        let output = path(&dir, "ours.data");
        let map_dir = format!("--perf-map={}", dir.path().display());
        let recorded = corpus(&format!("p612b/{recording}"));
        rewrite(&recorded, &output, &[&map_dir, "--perf-version", "6.1"]);
        let object = file.replace(".map", ".so");
        let Some((ours, inside)) = names(&output, &object) else {
            return note!("{test}: skipped: no perf");
        };
        let golden = fs::read(corpus(&format!("golden/p612b/{recording}.script.zst"))).unwrap();
        let golden = String::from_utf8(zstd::decode_all(&golden[..]).unwrap()).unwrap();
        let suffix = format!(" (/tmp/{file})");
        let of_map = |line: &str| Some(line.strip_suffix(&suffix)?.trim_start().split_once(' ')?.1.to_owned());
        let expected: Vec<_> = golden.lines().filter_map(of_map).collect();
        let mut remaining = ours.iter();
        let named = expected.iter().filter(|name| remaining.any(|ours| ours == *name)).count();
        assert_eq!((named, inside), (expected.len(), expected.len()), "{recording}");
        assert!(inside >= 50, "{recording}: only {inside} frames");
        assert!(fs::metadata(path(&dir, &object)).unwrap().len() < 64 << 10, "the image should have no code");
        note!("{test}: {recording}: {inside} frames have the names that perf prints");
    }
}

#[test]
fn moved_and_replaced_functions_have_their_names_at_the_time() {
    let sorted = tempfile::tempdir().unwrap();
    rewrite(&ours("java.data"), &path(&sorted, "sorted.data"), &["--sort"]);
    let frames = contents(&path(&sorted, "sorted.data")).frames;
    // An address in the interpreter, which occurs in most call chains.
    let mut count = BTreeMap::<u64, usize>::new();
    frames.values().flatten().for_each(|&ip| *count.entry(ip).or_default() += 1);
    let in_code = |ip: &u64| function_at(*ip).is_some_and(|name| name == "Interpreter");
    let (&address, _) = count.iter().filter(|(ip, _)| in_code(ip)).max_by_key(|(_, count)| **count).unwrap();
    let times: Vec<u64> = frames.iter().filter(|(_, ips)| ips.contains(&address)).map(|(time, _)| *time).collect();
    assert!(times.len() >= 3, "{times:?}");
    let (second, third) = (times[1], times[2]);
    let code = [0x90; 64];
    let dump = DumpBuilder::new(Endian::Little, |_| {})
        .load(times[0] - 1, 1, address - 0x10, 64, "first", &code)
        // Overlaps the first one, and replaces it there.
        .load(second - 1, 2, address - 4, 8, "second", &code[..8])
        .move_code(third, 1, address - 0x20, 64)
        .record(RecordKind::CODE_CLOSE, third, &[]);
    let (dir, run) = with_dump(&dump);
    assert_eq!((run.status, run.warnings().len()), (0, 1), "{}", run.stderr);
    let output = path(&dir, "out.data");
    let maps = contents(&output).maps;
    let offsets: Vec<_> = maps.iter().map(|&(_, _, _, offset)| offset).collect();
    assert_eq!(offsets, [0x1000, 0x1040, 0x1000], "a moved function keeps its offset in the image");
    assert_eq!(maps[2], (third, address - 0x20, 64, 0x1000));
    let Some((names, inside)) = names(&output, "jit-11901.so") else { return };
    let expected = |time: u64| match time {
        time if time < second => "first+0x10",
        time if time < third => "second+0x4",
        _ => "first+0x20",
    };
    let functions: Vec<_> =
        names.iter().filter(|name| name.starts_with("first+") || name.starts_with("second+")).collect();
    let of_sample = |time: &u64| {
        let count = frames[time].iter().filter(|&&ip| ip == address).count();
        std::iter::repeat_n(expected(*time), count)
    };
    let at_address: Vec<_> = times.iter().flat_map(of_sample).collect();
    let all: Vec<_> = functions.iter().filter(|name| at_address.contains(&name.as_str())).collect();
    assert!(inside >= at_address.len() && all.len() == at_address.len(), "{functions:?}");
    assert!(all.iter().zip(&at_address).all(|(name, expected)| **name == expected), "{all:?}");
}

/// The name of the function at an address in the jitdump of this repository.
fn function_at(ip: u64) -> Option<String> {
    static DUMP: OnceLock<Dump> = OnceLock::new();
    let dump = DUMP.get_or_init(|| Dump::read(&dump_of_ours().into(), "dump").expect("a jitdump"));
    dump.events.iter().find_map(|event| match &event.kind {
        EventKind::Load(function) if (event.address..event.address + function.size).contains(&ip) => {
            Some(String::from_utf8_lossy(&function.name).into_owned())
        }
        _ => None,
    })
}

#[test]
fn line_numbers_match_the_dump_also_from_v8() {
    // V8 counts offsets from after a header of 64 bytes.
    for shift in [0, 0x40] {
        let lines = [(shift, 7, &b"/src/a.js"[..]), (shift + 4, 9, b"\xff")];
        let dump = DumpBuilder::new(Endian::Little, |_| {}).lines(ADDRESS, &lines).load(1, 1, ADDRESS, 16, "f", &CODE);
        let (dir, run) = with_dump(&dump);
        assert_eq!((run.status, run.warnings().len()), (0, 0), "{}", run.stderr);
        let mut addr2line = with_time_limit("addr2line");
        addr2line.args(["-f", "-e"]).arg(path(&dir, "jit-11901.so"));
        let run = run_other(addr2line.args(["0x1000", "0x1003", "0x1004", "0x100f"]));
        if run.status != 0 {
            return note!("lines: skipped: no addr2line");
        }
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let lines: Vec<_> = text.lines().collect();
        let (seven, nine) = ("/src/a.js:7", "/src/a.js:9");
        assert_eq!(lines, ["f", seven, "f", seven, "f", nine, "f", nine], "{shift}");
    }
}
