//! Functions from sources other than object files at their recorded paths: BPF programs, simpleperf, containers, code images.

use crate::common::program::{perfconv, profile, run, succeed};
use crate::common::symbol_sources::in_repository;
use linux_perf_data::{PerfFileReader, SimpleperfFileRecord, SimpleperfTypeSpecificInfo, simpleperf_dso_type};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// perf script text of a recording. No home directory has caches.
fn script(recording: &Path, args: &[&str]) -> String {
    let mut command = perfconv();
    command.arg(recording).args(["-t", "perf-script", "-q"]).args(args).env("HOME", "/nonexistent");
    let run = succeed(&mut command);
    String::from_utf8(run.stdout).unwrap()
}

/// The frames of perf script text: address, function without its offset, and file.
fn frames(text: &str) -> impl Iterator<Item = (u64, &str, &str)> {
    text.lines().filter_map(|line| {
        let (address, rest) = line.strip_prefix('\t')?.trim_start().split_once(' ')?;
        let (function, file) = rest.rsplit_once(" (")?;
        let function = function.rsplit_once("+0x").map_or(function, |(function, _)| function);
        Some((u64::from_str_radix(address, 16).ok()?, function, file.strip_suffix(')')?))
    })
}

#[test]
fn bpf_programs_have_functions_and_lines() {
    let recording = in_repository("symbols/bpf.data");
    let text = script(&recording, &["-F", "+srcline"]);
    let lines: Vec<&str> = text.lines().collect();
    let mut counts = BTreeMap::<(String, String), usize>::new();
    for pair in lines.windows(2) {
        if let Some((_, function, _)) = frames(pair[0]).next().filter(|(_, name, _)| name.starts_with("bpf_prog_")) {
            let function = function.rsplit('_').next().unwrap().to_owned();
            *counts.entry((function, pair[1].trim().to_owned())).or_default() += 1;
        }
    }
    let of = |function: &str, line: &str| counts.get(&(function.to_owned(), line.to_owned())).copied().unwrap_or(0);
    let squares: usize = counts.iter().filter(|((name, _), _)| name == "square").map(|(_, count)| count).sum();
    assert_eq!(squares, of("square", "/srv/bpf/square.h:3"), "the whole loop is in this line: {counts:?}");
    // Each call of square is in this line; the other samples in count are of the loop.
    assert_eq!(of("count", "/srv/bpf/count.c:8"), squares, "{counts:?}");
    assert!(squares > 80 && of("count", "/srv/bpf/count.c:7") > 0, "{counts:?}");

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.pb.gz");
    succeed(perfconv().arg(&recording).args(["-q", "-o"]).arg(&path));
    let profile = profile(&path);
    let text = |id: i64| &*profile.string_table[id as usize];
    let function = profile.function.iter().find(|function| text(function.name).ends_with("_count")).unwrap();
    assert_eq!((text(function.filename), function.start_line), ("/srv/bpf/count.c", 5));
}

#[test]
fn functions_in_json_lines_are_those_of_the_text_and_ignored_on_import() {
    let directory = tempfile::tempdir().unwrap();
    let [lines, copy] = ["c.jsonl", "copy.data"].map(|name| directory.path().join(name));
    let (recording, files) = (in_repository("symbols/c.data"), in_repository("symbols/files"));
    let mut command = perfconv();
    command.arg(&recording).arg("--symfs").arg(&files).args(["--decode", "symbols", "-q", "-o"]).arg(&lines);
    succeed(command.env("HOME", "/nonexistent"));
    let json = fs::read_to_string(&lines).unwrap();
    let functions = |line| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let symbols = object["symbols"].as_array()?.clone();
        Some(symbols.into_iter().map(|symbol| symbol["symbol"].as_str().unwrap_or("[unknown]").to_owned()))
    };
    let mut ours: Vec<String> = json.lines().filter_map(functions).flatten().collect();
    let text = script(&recording, &["--symfs", files.to_str().unwrap()]);
    let names = |line: &str| {
        let (_, rest) = line.strip_prefix('\t')?.trim_start().split_once(' ')?;
        let (name, _) = rest.rsplit_once(" (")?;
        Some(name.rsplit_once("+0x").map_or(name, |(name, _)| name).to_owned())
    };
    let mut expected: Vec<String> = text.lines().filter_map(names).collect();
    ours.sort();
    expected.sort();
    assert!(ours == expected && ours.len() > 4000, "{} and {} functions", ours.len(), expected.len());
    succeed(perfconv().arg(&lines).args(["-q", "-o"]).arg(&copy));
    assert!(fs::read(&copy).unwrap() == fs::read(&recording).unwrap());
    // Options of symbols have no effect without them.
    let misplaced = run(perfconv().arg(&recording).args(["--no-inline", "-t", "jsonl"]));
    assert_eq!((misplaced.status, misplaced.stderr.contains("requires --decode symbols")), (2, true));
}

/// The name of the symbol at an offset in a file, by another reader of the recording.
fn symbol_of<'a>(objects: &'a [SimpleperfFileRecord], file: &str, address: u64) -> Option<&'a str> {
    let object = objects.iter().rev().find(|object| object.path == file && !object.symbol.is_empty())?;
    let bias = match (object.r#type, &object.type_specific_msg) {
        (simpleperf_dso_type::DSO_KERNEL_MODULE, Some(SimpleperfTypeSpecificInfo::KernelModule(module))) => {
            object.min_vaddr.wrapping_sub(module.memory_offset_of_min_vaddr)
        }
        (simpleperf_dso_type::DSO_ELF_FILE, Some(SimpleperfTypeSpecificInfo::ElfFile(elf))) => {
            object.min_vaddr.wrapping_sub(elf.file_offset_of_min_vaddr)
        }
        (simpleperf_dso_type::DSO_ELF_FILE, _) => object.min_vaddr,
        _ => 0,
    };
    let address = address.wrapping_add(bias);
    let is_in = |start: u64, len: u32| address >= start && address - start < len.into();
    object.symbol.iter().find(|symbol| is_in(symbol.vaddr, symbol.len)).map(|symbol| &*symbol.name)
}

#[test]
fn recordings_of_simpleperf_have_the_symbols_in_them() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/peers/simpleperf");
    if !directory.is_dir() {
        return note!("skipped: there is no ../shared/corpus");
    }
    let (mut compared, mut named, mut recordings) = (0, 0, 0);
    let list = [fs::read_dir(&directory).unwrap(), fs::read_dir(directory.join("scripts")).unwrap()];
    let mut list: Vec<PathBuf> = list.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    list.sort();
    for path in list.iter().filter(|path| path.extension().is_some_and(|extension| extension == "data")) {
        let objects = File::open(path).ok().and_then(|file| {
            let PerfFileReader { perf_file, .. } = PerfFileReader::parse_file(BufReader::new(file)).ok()?;
            perf_file.simpleperf_symbol_tables().ok()?
        });
        let Some(objects) = objects else { continue };
        recordings += 1;
        let text = script(path, &["--demangle", "no"]);
        for (address, function, file) in frames(&text) {
            // Addresses of generated code are printed relative to their mapping.
            if file.contains("_jit_app_cache:") {
                named += usize::from(function != "[unknown]");
                continue;
            }
            let expected = symbol_of(&objects, file, address).unwrap_or("[unknown]");
            assert_eq!(function, expected, "{}: {address:#x} {file}", path.display());
            compared += usize::from(expected != "[unknown]");
        }
    }
    note!(
        "simpleperf: {compared} frames of {recordings} recordings have the symbols that linux-perf-data reads, {named} JIT"
    );
    assert!(recordings >= 9 && compared > 10_000 && named > 0, "compared too little");
}

#[test]
fn recordings_of_simpleperf_have_its_names_of_events() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/peers/simpleperf");
    if !directory.is_dir() {
        return note!("skipped: there is no ../shared/corpus");
    }
    let (mut compared, mut tracepoints) = (0, 0);
    for entry in fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let Some(reader) =
            File::open(&path).ok().and_then(|file| PerfFileReader::parse_file(BufReader::new(file)).ok())
        else {
            continue;
        };
        let Ok(Some(meta_info)) = reader.perf_file.simpleperf_meta_info() else { continue };
        let Some(expected) = meta_info.get("event_type_info") else { continue };
        let mut expected: Vec<&str> = expected.lines().map(|line| line.split(',').next().unwrap()).collect();
        let info = run(perfconv().args(["info", "--events"]).arg(&path));
        let text = String::from_utf8(info.stdout).unwrap();
        let mut names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once(": size")?.0)).collect();
        names.extend(text.lines().filter_map(|line| Some(line.split_once(": type")?.0)));
        [&mut names, &mut expected].into_iter().for_each(|list| list.sort_unstable());
        assert_eq!(names, expected, "{}", path.display());
        compared += names.len();
        tracepoints += names.iter().filter(|name| **name == "sched:sched_switch").count();
    }
    note!("simpleperf: {compared} events have the names in the recordings, {tracepoints} of them tracepoints");
    assert!(compared >= 10 && tracepoints >= 2, "compared too little");
}

/// A process in namespaces of its own, until it is dropped.
struct Container(Child);

impl Drop for Container {
    fn drop(&mut self) {
        // Its child ends with it (`--kill-child`).
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Container {
    /// Starts a process in new mount and PID namespaces after a shell command there; `None` if that is not permitted.
    fn start(command: &str, ready: &Path) -> Option<Self> {
        let script = format!("{command} && touch {} && exec sleep 600", ready.display());
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &script]);
        let mut container = Self(unshare.stdin(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
        let start = Instant::now();
        while !ready.exists() {
            if container.0.try_wait().unwrap().is_some() || start.elapsed() > Duration::from_secs(60) {
                return None;
            }
            thread::sleep(Duration::from_millis(10));
        }
        Some(container)
    }

    /// The ID of its process outside of it.
    fn pid(&self) -> u32 {
        let pid = self.0.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.trim().parse().unwrap()
    }
}

/// Writes a copy of a recording as of this machine, after a change of its JSON Lines.
fn of_this_machine(recording: &Path, output: &Path, change: impl Fn(String) -> String) {
    let lines = run(perfconv().arg(recording).args(["-t", "jsonl", "-q", "-o", "-"]));
    let lines = change(String::from_utf8(lines.stdout).unwrap());
    let json = output.with_extension("jsonl");
    fs::write(&json, lines).unwrap();
    let mut command = perfconv();
    command.arg(&json).args(["-q", "-f", "-o"]).arg(output);
    for name in ["hostname", "osrelease"] {
        let value = fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap();
        command.args(["--set", &format!("{name}={}", value.trim_end())]);
    }
    succeed(&mut command);
}

/// The JSON Lines of `jitmap.data` as of another process.
fn of_process(lines: String, pid: u32) -> String {
    ["pid", "tid"].iter().fold(lines, |lines, field| {
        lines
            .replace(&format!("\"{field}\":5548,"), &format!("\"{field}\":{pid},"))
            .replace(&format!("\"{field}\":5548}}"), &format!("\"{field}\":{pid}}}"))
    })
}

#[test]
fn files_of_a_container_are_found_while_it_lives() {
    let directory = tempfile::tempdir().unwrap();
    let [files, recording, ready] = ["files", "words.data", "ready"].map(|name| directory.path().join(name));
    fs::create_dir_all(files.join("words/bin")).unwrap();
    fs::copy(in_repository("symbols/files/opt/words/bin/words"), files.join("words/bin/words")).unwrap();
    of_this_machine(&in_repository("symbols/words.data"), &recording, |lines| lines);
    let named = || {
        let text = script(&recording, &[]);
        frames(&text).filter(|(_, function, file)| file.ends_with("/words") && *function != "[unknown]").count()
    };
    assert_eq!(named(), 0, "/opt/words is not installed here");
    let command = format!("mount --bind {} /opt", files.display());
    let Some(container) = Container::start(&command, &ready) else {
        return note!("containers: skipped: no namespaces can be created here");
    };
    let count = named();
    note!("containers: {count} frames are named by a file in a mount namespace");
    assert!(count > 1000, "{count}");
    drop(container);
    assert_eq!(named(), 0, "the container has ended");
}

#[test]
fn the_perf_map_of_a_container_has_the_process_id_inside() {
    let directory = tempfile::tempdir().unwrap();
    let [recording, ready] = ["jitmap.data", "ready"].map(|name| directory.path().join(name));
    let map = in_repository("symbols/files/tmp/perf-5548.map");
    // The files of /tmp are hidden from here on.
    let command = format!(
        "exec 3<{} && mount -t tmpfs none /mnt && cat <&3 >/mnt/perf-1.map && touch {} && mount --move /mnt /tmp && \
         exec sleep 600",
        map.display(),
        ready.display()
    );
    let Some(container) = Container::start(&command, &ready) else {
        return note!("containers: skipped: no namespaces can be created here");
    };
    let pid = container.pid();
    let expected = fs::read_to_string(&map).unwrap();
    let named = |pid: u32, namespaces: Option<[u64; 2]>| {
        of_this_machine(&in_repository("symbols/jitmap.data"), &recording, |lines| {
            let mut lines = of_process(lines, pid);
            if let Some([mount, of_pids]) = namespaces {
                let inodes = [1, 1, 1, of_pids, 1, mount, 1].map(|inode| format!("{{\"dev\":4,\"ino\":{inode}}}"));
                let body = format!("{{\"pid\":{pid},\"tid\":{pid},\"link_info\":[{}]}}", inodes.join(","));
                let record = format!(
                    "{{\"record\":\"NAMESPACES\",\"body\":{body},\"sample_id\":{{\"task\":{{\"pid\":0,\"tid\":0}},\"time\":0}}}}\n"
                );
                lines.insert_str(lines.find("{\"record\":\"COMM\"").unwrap(), &record);
            }
            lines
        });
        let text = script(&recording, &[]);
        let file = format!("/tmp/perf-{pid}.map");
        let functions: BTreeSet<&str> =
            frames(&text).filter(|(.., of)| *of == file).map(|(_, function, _)| function).collect();
        note!("containers: functions of perf-1.map: {functions:?}");
        functions.iter().filter(|name| expected.contains(&format!(" {name}\n"))).count()
    };
    assert!(named(pid, None) >= 3);
    // The recorded process may have ended, and another one may have its ID.
    let inode = |process: &str, kind: &str| fs::metadata(format!("/proc/{process}/ns/{kind}")).unwrap().ino();
    let [mount, of_pids] = ["mnt", "pid"].map(|kind| inode(&pid.to_string(), kind));
    assert!(named(pid, Some([mount, of_pids])) >= 3);
    assert_eq!(named(pid, Some([mount + 1_000_000, of_pids])), 0);
    // In the PID namespace of the host, an ended process had the same ID in its container.
    assert_eq!(named(1, Some([mount, of_pids])), 0);
    assert!(named(1, Some([mount, inode("self", "pid")])) >= 3);
}

/// The content of the perf map in an archive of a recording of a process, if it has one, and whether the whole archive contains a
/// text.
fn packed_map(recording: &Path, pid: u32, text: &str) -> (Option<Vec<u8>>, bool) {
    let archive = recording.with_extension("tar");
    succeed(perfconv().args(["archive", "-q", "-f", "-o"]).arg(&archive).arg(recording));
    let bytes = fs::read(&archive).unwrap();
    let mut tar = tar::Archive::new(&bytes[..]);
    let maps = tar.entries().unwrap().map(Result::unwrap).filter_map(|mut entry| {
        let is_map = *entry.path().unwrap() == *Path::new(&format!("processes/{pid}/perf.map"));
        let mut content = Vec::new();
        is_map.then(|| entry.read_to_end(&mut content).map(|_| content).unwrap())
    });
    (maps.collect::<Vec<_>>().pop(), memchr::memmem::find(&bytes, text.as_bytes()).is_some())
}

/// What a process in a container has as its perf map is packed only if it is a file of the container: a link would be followed on
/// the host, with the rights of the user who packs.
#[test]
fn the_perf_map_of_a_container_is_no_way_to_files_of_the_host() {
    const SECRET: &str = "3f0 10 secret_of_the_host";
    let directory = tempfile::tempdir().unwrap();
    let [recording, secret] = ["jitmap.data", "secret"].map(|name| directory.path().join(name));
    fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let secret = secret.display();
    let kinds = [
        ("file", "echo '3f0 10 of_the_container' >/mnt/perf-1.map".to_owned()),
        ("link", format!("ln -s {secret} /mnt/perf-1.map")),
        ("link through /proc", format!("ln -s /proc/1/root{secret} /mnt/perf-1.map")),
        ("relative link", format!("ln -s ../../../../../..{secret} /mnt/perf-1.map")),
        ("directory", "mkdir /mnt/perf-1.map".to_owned()),
        ("FIFO", "mkfifo /mnt/perf-1.map".to_owned()),
        ("holes", "truncate -s 100G /mnt/perf-1.map".to_owned()),
        ("file of another user", "echo '3f0 10 other' >/mnt/perf-1.map; chown 12345 /mnt/perf-1.map".to_owned()),
    ];
    for (number, (kind, command)) in kinds.iter().enumerate() {
        // The files of /tmp, and so the secret, are hidden from here on.
        let ready = directory.path().join(format!("ready{number}"));
        let command = format!(
            "mount -t tmpfs none /mnt && {command} && touch {} && mount --move /mnt /tmp && exec sleep 600",
            ready.display()
        );
        let Some(container) = Container::start(&command, &ready) else {
            return note!("containers: skipped: no namespaces can be created here");
        };
        let pid = container.pid();
        of_this_machine(&in_repository("symbols/jitmap.data"), &recording, |lines| of_process(lines, pid));
        let (map, has_secret) = packed_map(&recording, pid, SECRET);
        let expected = (*kind == "file").then(|| b"3f0 10 of_the_container\n".to_vec());
        assert_eq!((map, has_secret), (expected, false), "{kind}");
    }
    note!("containers: {} kinds of perf maps", kinds.len());
}

#[test]
fn profiles_have_the_functions_of_code_images_that_they_write() {
    let directory = tempfile::tempdir().unwrap();
    let dump = directory.path().join("jit-11901.dump");
    let packed = fs::read(in_repository("jit/jit-11901.dump.zst")).unwrap();
    fs::write(&dump, zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let recording = in_repository("jit/java.data");
    let of_image = |input: &Path, args: &[&str], images: &str| {
        let images = directory.path().join(images);
        fs::create_dir_all(&images).unwrap();
        let mut command = perfconv();
        command.arg(input).args(["-t", "perf-script", "-q"]).args(args).env("HOME", "/nonexistent");
        if !args.is_empty() {
            command.arg("--jit-dump").arg(&dump).arg("--jit-dir").arg(&images);
        }
        let run = succeed(&mut command);
        let text = String::from_utf8(run.stdout).unwrap();
        let functions = frames(&text).filter(|(.., file)| file.ends_with("/jit-11901.so"));
        functions.map(|(address, function, _)| (address, function.to_owned())).collect::<Vec<_>>()
    };
    let in_one_step = of_image(&recording, &["--jit"], "one");
    let named = directory.path().join("named.data");
    let mut command = perfconv();
    command.arg(&recording).args(["--jit", "-q", "-o"]).arg(&named).arg("--jit-dump").arg(&dump);
    succeed(&mut command);
    let in_two_steps = of_image(&named, &[], "two");
    assert_eq!(in_one_step, in_two_steps);
    assert!(in_one_step.iter().any(|(_, function)| function == "Interpreter"), "{in_one_step:?}");
    assert!(in_one_step.iter().all(|(_, function)| function != "[unknown]"), "{in_one_step:?}");
    // Samples that are written one by one have the functions of the images, too.
    let pprof = directory.path().join("out.pb.gz");
    let by_function = |labels: &[&str]| {
        let mut command = perfconv();
        command.arg(&recording).args(["--jit", "-q", "-f", "-o"]).arg(&pprof).arg("--jit-dump").arg(&dump).args(labels);
        succeed(command.env("HOME", "/nonexistent"));
        let profile = profile(&pprof);
        let mut counts = BTreeMap::<String, i64>::new();
        for sample in &profile.sample {
            let location = &profile.location[sample.location_id[0] as usize - 1];
            let function = &profile.function[location.line[0].function_id as usize - 1];
            *counts.entry(profile.string_table[function.name as usize].clone()).or_default() += sample.value[0];
        }
        (profile.sample.len(), counts)
    };
    let ((rows, aggregated), (samples, streamed)) = (by_function(&[]), by_function(&["--labels", "timestamp_ns"]));
    assert_eq!(aggregated, streamed);
    assert!(rows <= samples && samples > 20 && streamed.contains_key("Interpreter"), "{rows} {samples} {streamed:?}");
}
