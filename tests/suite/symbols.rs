//! Functions, inlined functions and lines of addresses, compared with what llvm-symbolizer and addr2line say of them.

use super::program::{note_missing_oracle, requires_oracles};
use super::symbolizers::{
    self, Comparison, Frame, Names, Share, answers, compare, heading, is_known, loose, place, shown_differences,
};
use perf_symbols::symbol::demangle::Demangle;
use perf_symbols::symbol::find::SearchOptions;
use perf_symbols::symbol::object::Object;
use perf_symbols::symbol::table::SymbolTable;
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Symbolizer};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The corpus, beside the repository.
fn corpus() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols");
    let path = path.canonicalize().ok()?;
    path.join("addr").is_dir().then_some(path)
}

fn unpacked(path: &Path) -> Option<String> {
    let bytes = zstd::decode_all(fs::File::open(path).ok()?).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a symbolizer says of the addresses of an object, as stored in the corpus.
fn golden(path: &Path) -> Option<Vec<Vec<Frame>>> {
    answers(&unpacked(path)?)
}

/// The addresses of a list.
fn addresses(path: &Path) -> Vec<u64> {
    let text = unpacked(path).unwrap();
    text.lines().map(|line| u64::from_str_radix(line.trim_start_matches("0x"), 16).unwrap()).collect()
}

/// The frames of addresses of an object in the corpus.
fn resolve(corpus: &Path, object: &Path, addresses: Vec<u64>, threads: usize) -> Vec<Vec<Frame>> {
    symbolizers::resolve(SearchOptions::default().with_symfs(&corpus.join("symfs")), object, addresses, threads)
}

/// The path at which an object of the corpus was recorded.
fn recorded_path(name: &str) -> PathBuf {
    let directory = if name.starts_with("libstdc++") { "/usr/lib/x86_64-linux-gnu" } else { "/srv/sym/bin" };
    Path::new(directory).join(name)
}

#[test]
fn addresses_resolve_as_by_llvm_and_binutils() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let names = Names::read(&corpus);
    let mut lists: Vec<String> = (fs::read_dir(corpus.join("addr")).unwrap())
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".addrs.zst").map(str::to_owned))
        .collect();
    lists.sort();
    let mut total = Comparison::default();
    let mut table = heading();
    let mut failures = Vec::new();
    for name in &lists {
        let file = |ending: &str| corpus.join("addr").join(format!("{name}.{ending}.zst"));
        let ours = resolve(&corpus, &recorded_path(name), addresses(&file("addrs")), 2);
        let (llvm, addr2line) = (golden(&file("llvm")).unwrap(), golden(&file("a2l")).unwrap());
        let found = compare(&names, &ours, &llvm, &addr2line);
        table += &found.row(name);
        for difference in found.differences.iter().take(shown_differences()) {
            table += &format!("    {difference}\n");
        }
        total.addresses += found.addresses;
        for (sum, share) in [
            (&mut total.llvm, found.llvm),
            (&mut total.addr2line, found.addr2line),
            (&mut total.either, found.either),
            (&mut total.places, found.places),
            (&mut total.inlined, found.inlined),
        ] {
            sum.equal += share.equal;
            sum.all += share.all;
        }
        if name == lists.last().unwrap() {
            table += &total.row(&format!("all {}", lists.len()));
        }
        let (names, places, inlined) = (found.either, found.places, found.inlined);
        for (what, share, target) in [("names", names, 99.0), ("file:ln", places, 99.5), ("inlined", inlined, 99.0)] {
            if share.percent() < target {
                failures.push(format!("{name}: {what} {}", share.shown()));
            }
        }
    }
    println!("{table}");
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn a_stripped_program_has_the_functions_of_its_mini_debug_info() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let file = |ending: &str| corpus.join("addr").join(format!("foundry-pie.{ending}.zst"));
    let llvm = golden(&file("llvm")).unwrap();
    let mut share = Share::default();
    // It has the same code as the program that was not stripped.
    let ours = resolve(&corpus, &recorded_path("foundry-mini"), addresses(&file("addrs")), 1);
    for (frames, llvm) in ours.iter().zip(&llvm) {
        if let Some(outermost) = llvm.last().filter(|frame| is_known(frame)) {
            share.add(frames.last().is_some_and(|frame| loose(&frame.0) == loose(&outermost.0)));
        }
    }
    println!("foundry-mini: {} % of {} names", share.shown(), share.all);
    assert!(share.all > 400 && share.percent() >= 99.0);
}

/// The name of a generic function as the runtime of Go has it.
fn without_type_arguments(name: &str) -> String {
    match (name.find("[go.shape"), name.rfind(']')) {
        (Some(start), Some(end)) if start < end => format!("{}[...]{}", &name[..start], &name[end + 1..]),
        _ => name.to_owned(),
    }
}

#[test]
fn a_stripped_go_program_has_its_functions_and_lines() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let file = |ending: &str| corpus.join("addr").join(format!("ferry.{ending}.zst"));
    let ours = resolve(&corpus, &recorded_path("ferry-s"), addresses(&file("addrs")), 2);
    // It has the same code as the program that was not stripped.
    let [llvm, addr2line] = ["llvm", "a2l"].map(|ending| {
        let mut frames = golden(&file(ending)).unwrap();
        frames.iter_mut().flatten().for_each(|frame| frame.0 = without_type_arguments(&frame.0));
        frames
    });
    let found = compare(&Names::default(), &ours, &llvm, &addr2line);
    println!("{}{}", heading(), found.row("ferry-s"));
    found.differences.iter().take(shown_differences()).for_each(|difference| println!("{difference}"));
    assert!(found.either.percent() >= 99.0 && found.places.percent() >= 99.0 && found.inlined.percent() >= 99.0);
}

/// C++ libraries of this machine and of the corpus.
fn cpp_libraries() -> Vec<PathBuf> {
    const NAMES: [&str; 4] = ["libstdc++.so.", "libLLVM-", "libclang-cpp.so.", "libQt5"];
    let system = PathBuf::from("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let corpus = corpus().map(|corpus| corpus.join("symfs/usr/lib/x86_64-linux-gnu"));
    let files = [Some(system), corpus].into_iter().flatten().filter_map(|path| fs::read_dir(path).ok()).flatten();
    let library = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let place = NAMES.iter().position(|start| name.starts_with(start))?;
        Some((place, entry.path().canonicalize().ok()?))
    };
    let libraries: BTreeSet<(usize, PathBuf)> = files.filter_map(|entry| library(entry.ok()?)).collect();
    libraries.into_iter().map(|(_, path)| path).collect()
}

#[test]
fn cpp_names_are_demangled_as_by_cxxfilt() {
    /// Maximum number of names.
    const NAMES: usize = 120_000;
    let mut names = BTreeSet::new();
    let mut libraries = 0;
    for path in cpp_libraries() {
        let Ok(Some(object)) = Object::open(&path) else { continue };
        let table = SymbolTable::new(&object, None);
        let mangled = table.names().filter(|name| name.starts_with(b"_Z") && !name.contains(&b'@'));
        names.extend(mangled.map(|name| String::from_utf8_lossy(name).into_owned()));
        libraries += 1;
        if names.len() >= NAMES {
            break;
        }
    }
    assert!(libraries > 0, "no C++ library");
    let names: Vec<String> = names.into_iter().collect();
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), names.join("\n")).unwrap();
    // Libraries of LLVM have most of the names; a machine that need not have all tools may lack them.
    let enough = if requires_oracles() { 80_000 } else { 3000 };
    for (demangle, args) in [(Demangle::Full, &[][..]), (Demangle::Short, &["--no-params"])] {
        let input = fs::File::open(input.path()).unwrap();
        let Ok(output) = Command::new("c++filt").arg("--no-verbose").args(args).stdin(input).output() else {
            note_missing_oracle("c++filt");
            println!("skipped: there is no c++filt");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let (mut share, mut unknown) = (Share::default(), 0);
        for (name, expected) in names.iter().zip(text.lines()) {
            let own = demangle.demangle(name.as_bytes()).unwrap_or_else(|| name.clone());
            assert!(own != *name || own == expected, "{name} is not demangled: {expected}");
            // c++filt knows no suffixes of variables.
            if expected == name {
                unknown += 1;
                continue;
            }
            share.add(own == expected);
            if own != expected && share.all - share.equal <= shown_differences() as u64 {
                println!("{name}\n  {own}\n  {expected}");
            }
        }
        let shown = share.shown();
        println!("{demangle:?}: {shown} % of {} names of {libraries} libraries; {unknown} not in c++filt", share.all);
        assert!(share.all > enough && share.percent() >= 99.5);
    }
}

#[test]
fn corrupt_objects_cost_their_own_names() {
    let directory = tempfile::tempdir().unwrap();
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/files/srv/sym/bin");
    let of_fixture = |name: &str| (fixtures.join(name), (0x1000..0x5000).step_by(8).collect::<Vec<u64>>());
    let mut objects: Vec<_> = ["foundry-fp", "mill-fp", "tower"].map(of_fixture).into();
    if let Some(corpus) = corpus() {
        let names = ["foundry-pie", "foundry-gzstd", "foundry-mini", "foundry-dw4", "mill-gz", "plt-lazy", "ferry-s"];
        objects.extend(names.map(|name| {
            let list = addresses(&corpus.join("addr").join(format!("{name}.addrs.zst")));
            (corpus.join("symfs/srv/sym/bin").join(name), list)
        }));
    } else {
        println!("skipped: there is no ../shared/symbols");
    }
    let (mut tried, mut known) = (0, 0);
    for (path, list) in objects {
        let whole = fs::read(path).unwrap();
        for round in 0..24 {
            let mut bytes = whole.clone();
            for _ in 0..1 << (round % 8) {
                let at = random(bytes.len());
                bytes[at] = [0, 0xff, 0x7f, 0x80, random(256) as u8][random(5)];
            }
            if round % 6 == 0 {
                bytes.truncate(random(whole.len()));
            }
            let path = directory.path().join("object");
            fs::write(&path, &bytes).unwrap();
            let search = SearchOptions::default();
            let symbolizer = Symbolizer::new(Options::default(), search);
            let key = ObjectKey { path, ..ObjectKey::default() };
            let requests = [Request::new(key, Addresses::Virtual(list.iter().copied().step_by(9).collect()))];
            known += symbolizer.resolve(&requests).objects[0].with_function;
            tried += 1;
        }
    }
    println!("{tried} corrupt objects, {known} addresses with a function");
    assert!(tried >= 72 && known > 1000);
}

/// The frames of a sample in the text of perf script, without offsets and objects.
fn functions(text: &str) -> Vec<Vec<&str>> {
    let samples = text.split("\n\n").filter(|sample| sample.contains('\t'));
    let name = |line: &'_ str| -> Option<(usize, usize)> {
        let start = line.strip_prefix('\t')?.trim_start();
        let start = line.len() - start.len() + start.find(' ')? + 1;
        let end = start + line[start..].rfind(" (")?;
        let end = line[start..end].rfind("+0x").map_or(end, |plus| start + plus);
        Some((start, end))
    };
    samples
        .map(|sample| sample.lines().filter_map(|line| name(line).map(|(start, end)| &line[start..end])).collect())
        .collect()
}

#[test]
fn jit_code_has_the_functions_of_its_jitdump_without_injection() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.txt");
    let status = Command::new(env!("CARGO_BIN_EXE_perfconv"))
        .arg(corpus.join("rec/d-fp-jitdump.data"))
        .args(["-q", "-t", "perf-script", "--no-inline", "--symfs"])
        .arg(corpus.join("symfs"))
        .arg("-o")
        .arg(&output)
        .status()
        .unwrap();
    assert!(status.success());
    let own = fs::read_to_string(&output).unwrap();
    let perf = unpacked(&corpus.join("golden/d-fp-jitinj.p61.noinline.txt.zst")).unwrap();
    let (own, perf) = (functions(&own), functions(&perf));
    assert_eq!(own.len(), perf.len());
    let mut share = Share::default();
    for (own, perf) in own.iter().zip(&perf) {
        // perf injected these functions.
        for (own, perf) in own.iter().zip(perf).filter(|(_, perf)| perf.to_lowercase().contains("jitd")) {
            share.add(own == perf);
        }
    }
    println!("{} % of {} frames of JIT code", share.shown(), share.all);
    assert!(share.all > 800 && share.equal == share.all, "{} of {}", share.equal, share.all);
    assert!(own.iter().flatten().any(|name| *name == "[unknown]"), "stubs are not in the jitdump");
}

/// A program, run with these arguments; `None` if it is missing or fails.
fn ran(program: &str, arguments: &[&str], directory: &Path) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(directory).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn kernel_modules_have_their_functions_inlined_functions_and_lines() {
    const SOURCE: &str = "volatile int sum;\n\
        static inline __attribute__((always_inline)) void add(int by) {\n  sum += by;\n  sum ^= by;\n}\n\
        __attribute__((section(\".init.text\"))) int init_module(void) {\n  sum = 3;\n  return 0;\n}\n\
        void first(int by) {\n  add(by);\n  sum -= 2;\n}\n\
        __attribute__((cold)) void rare(int by) {\n  sum *= by;\n  add(by + 1);\n}\n\
        void second(int by) {\n  sum++;\n  first(by);\n}\n";
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    fs::create_dir_all(at("usr/lib/modules/6.1/kernel")).unwrap();
    fs::write(at("m.c"), SOURCE).unwrap();
    let compiled = ran("gcc", &["-g", "-O2", "-fno-pie", "-c", "m.c", "-o", "m.o"], root.path());
    let linked = compiled.and_then(|_| ran("ld", &["-r", "--build-id=sha1", "m.o", "-o", "m.ko"], root.path()));
    if linked.is_none() {
        println!("skipped: there is no gcc or ld");
        return;
    }
    let bytes = fs::read(at("m.ko")).unwrap();
    let object = Object::parse(Path::new("m.ko"), bytes.clone().into()).unwrap();
    let sections: Vec<_> = object.sections().iter().filter(|section| section.address != 0).collect();
    assert!(sections.len() >= 2 && sections.iter().all(|section| !section.name.starts_with(b".init")));
    let base = object.address_of_offset(0).unwrap();
    let packed = zstd::encode_all(&bytes[..], 1).unwrap();
    fs::write(at("usr/lib/modules/6.1/kernel/m.ko.zst"), packed).unwrap();

    let mut search = SearchOptions::default().with_symfs(root.path());
    let key = |build_id| ObjectKey {
        path: "/lib/modules/6.1/kernel/m.ko".into(),
        build_id,
        load_address: Some(0xffff_ffff_c000_0000),
        ..ObjectKey::default()
    };
    let (mut compared, mut with_inlined) = (0, 0);
    for section in sections {
        let name = String::from_utf8_lossy(&section.name).into_owned();
        let offsets: Vec<u64> = (0..section.size).collect();
        let mut arguments: Vec<String> = ["-fiae", "m.ko", "-j", &name].map(str::to_owned).into();
        arguments.extend(offsets.iter().map(|offset| format!("{offset:#x}")));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Some(oracle) = ran("addr2line", &arguments, root.path()) else {
            println!("skipped: there is no addr2line");
            return;
        };
        let mut expected: Vec<Vec<(String, u32)>> = Vec::new();
        let mut function = None;
        for line in oracle.lines() {
            if line.starts_with("0x") {
                expected.push(Vec::new());
            } else if let Some(function) = function.take() {
                expected.last_mut().unwrap().push((function, place(line).1));
            } else {
                function = Some(line.to_owned());
            }
        }
        let addresses = offsets.iter().map(|offset| section.address - base + offset).collect();
        let requests = [Request::new(key(object.build_id()), Addresses::Offsets(addresses))];
        let resolved = Symbolizer::new(Options::default(), search.clone()).resolve(&requests);
        for (place, expected) in expected.iter().enumerate() {
            let frames = resolved.symbols.frames(0, place).iter().map(|frame| {
                let function = frame.function.and_then(|id| resolved.symbols.function(id));
                let name = function.map_or(&b"??"[..], |function| resolved.symbols.name(function.name));
                (String::from_utf8_lossy(name).into_owned(), frame.line)
            });
            let own: Vec<_> = frames.collect();
            // binutils takes padding for a part of the function before it.
            if own.first().is_some_and(|(name, _)| name != "??") {
                assert_eq!(&own, expected, "{name}+{:#x}", offsets[place]);
                compared += 1;
                with_inlined += usize::from(own.len() > 1);
            }
        }
    }
    println!("{compared} addresses, {with_inlined} with inlined functions");
    assert!(compared > 40 && with_inlined > 8);
    // Without its build ID, it may be a module of another build.
    search.release = Some("6.1".to_owned());
    let requests = [Request::new(key(None), Addresses::Offsets(vec![8]))];
    let resolved = Symbolizer::new(Options::default(), search).resolve(&requests);
    assert_eq!(resolved.objects[0].with_function, 0);
}

/// The text of perf script, without inlined functions, of a recording or an archive.
fn script(input: &Path, arguments: &[&std::ffi::OsStr], home: &Path) -> String {
    output_text(input, &[&["--no-inline".as_ref()], arguments].concat(), home)
}

/// The text of perf script of a recording or an archive.
fn output_text(input: &Path, arguments: &[&std::ffi::OsStr], home: &Path) -> String {
    let output = tempfile::NamedTempFile::new().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_perfconv"))
        .arg(input)
        .args(["-q", "-f", "-t", "perf-script"])
        .args(arguments)
        .arg("-o")
        .arg(output.path())
        .env("HOME", home)
        .env_remove("XDG_CACHE_HOME")
        .status()
        .unwrap();
    assert!(status.success());
    fs::read_to_string(output.path()).unwrap()
}

/// Number of named frames of programs and libraries.
fn named_frames(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with('\t') && line.contains("+0x") && line.contains(" (/")).count()
}

#[test]
fn archives_are_converted_with_their_objects() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    let (recording, symfs) = (corpus.join("rec/d-fp-c.data"), corpus.join("symfs"));
    let perfconv = |arguments: &[&std::ffi::OsStr]| {
        let status = Command::new(env!("CARGO_BIN_EXE_perfconv")).arg("archive").args(arguments).arg("-q").status();
        assert!(status.unwrap().success());
    };
    let archive = at("c.tar.zst");
    perfconv(&[recording.as_ref(), "--symfs".as_ref(), symfs.as_ref(), "-o".as_ref(), archive.as_ref()]);
    let home = at("home");
    fs::create_dir(&home).unwrap();
    let expected = named_frames(&script(&recording, &["--symfs".as_ref(), symfs.as_ref()], &home));
    let without = named_frames(&script(&recording, &[], &home));
    let (temporary, spool) = (at("spool"), "--spool-dir".as_ref());
    fs::create_dir(&temporary).unwrap();
    let from_archive = script(&archive, &[spool, temporary.as_ref()], &home);
    println!("{expected} named frames, {without} without files, {} from the archive", named_frames(&from_archive));
    assert!(without + 1000 < expected && named_frames(&from_archive) == expected);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "temporary files remain");

    // Other commands read it as well.
    let output = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        let output = command.args(arguments).arg(&archive).env("HOME", &home).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (_, report) = output(&["check", "--symbols"]);
    assert!(report.starts_with(&archive.display().to_string()) && !report.contains("mill-fp"), "{report}");
    assert_eq!(output(&["check"]).0, Some(0));
    let (status, info) = output(&["info", "--stats"]);
    assert!(status == Some(0) && info.contains("SAMPLE"), "{info}");

    // The same objects, unpacked to a directory that is named and to the cache of the user.
    let unpacked = at("unpacked");
    perfconv(&[archive.as_ref(), "--unpack".as_ref(), "-o".as_ref(), unpacked.as_ref()]);
    let named = script(&recording, &["--buildid-dir".as_ref(), unpacked.as_ref()], &home);
    assert_eq!(named_frames(&named), expected);
    let alone = tempfile::tempdir().unwrap();
    fs::rename(&unpacked, alone.path().join(".debug")).unwrap();
    assert_eq!(named_frames(&script(&recording, &[], alone.path())), expected);
}

/// Recordings of the corpus, of objects with all forms of debug information.
const ARCHIVED: [&str; 18] = [
    "addr-ferry-s",
    "addr-foundry-bid",
    "addr-foundry-dw4dwp",
    "addr-foundry-dwz2",
    "addr-foundry-lld",
    "addr-foundry-mini",
    "addr-foundry-split",
    "addr-harbor-split",
    "addr-mill-dwp",
    "addr-mill-dwz",
    "addr-mill-link",
    "d-dw-foundry-dwz",
    "d-dw-go",
    "d-dw-harbor-pipe",
    "d-fp-jitdump",
    "d-fp-jitinj",
    "d-fp-jitmap",
    "d-fp-py",
];

#[test]
fn archives_contain_all_that_symbolization_needs() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let fixture = |name: &str| (fixtures.join(name).with_extension("data"), fixtures.join("files"));
    let mut recordings: Vec<_> = ["c", "cxx", "dwarf", "jitmap", "words"].map(fixture).into();
    if let Some(corpus) = corpus() {
        let of_corpus = |name: &&str| (corpus.join("rec").join(name).with_extension("data"), corpus.join("symfs"));
        recordings.extend(ARCHIVED.iter().map(of_corpus));
    } else {
        println!("skipped: there is no ../shared/symbols");
    }
    for (recording, symfs) in recordings {
        let directory = tempfile::tempdir().unwrap();
        let [archive, home] = ["x.tar.zst", "home"].map(|name| directory.path().join(name));
        fs::create_dir(&home).unwrap();
        let files = ["--symfs".as_ref(), symfs.as_os_str()];
        let mut perfconv = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        perfconv.arg("archive").arg(&recording).args(files).arg("-o").arg(&archive).env("HOME", &home);
        let output = perfconv.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = |input: &Path, options: &[&std::ffi::OsStr]| {
            let with_lines = ["-F".as_ref(), "+srcline".as_ref()];
            output_text(input, &[options, &with_lines].concat(), &home)
        };
        let (expected, found) = (text(&recording, &files), text(&archive, &[]));
        let lines = |text: &str| text.lines().filter(|line| line.starts_with("  ")).count();
        println!(
            "{}: {} of {} lines, {}",
            recording.display(),
            lines(&found),
            lines(&expected),
            String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default()
        );
        assert!(lines(&expected) > 50 && found == expected);
        let unpacked = directory.path().join("unpacked");
        let mut perfconv = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        let status = perfconv.args(["archive", "-q", "--unpack", "-o"]).arg(&unpacked).arg(&archive).status();
        assert!(status.unwrap().success());
        let with_build_ids = unpacked.join(recording.file_name().unwrap());
        assert!(text(&with_build_ids, &["--buildid-dir".as_ref(), unpacked.as_ref()]) == expected);
    }
}

#[test]
fn a_cache_of_perf_has_the_objects() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    // What `perf archive` packs, and `tar x -C ~/.debug` unpacks.
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join(".debug");
    let program = corpus.join("symfs/srv/sym/bin/mill-fp");
    let added =
        Command::new("perf").arg("--buildid-dir").arg(&cache).args(["buildid-cache", "--add"]).arg(&program).output();
    if !added.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no perf");
        return;
    }
    let recording = corpus.join("rec/d-fp-c.data");
    let texts = [script(&recording, &[], home.path()), {
        let empty = tempfile::tempdir().unwrap();
        script(&recording, &["--buildid-dir".as_ref(), cache.as_ref()], empty.path())
    }];
    for text in texts {
        let named = text.lines().filter(|line| line.contains("+0x") && line.contains("/bin/mill-fp)")).count();
        println!("{named} named frames");
        assert!(named > 1000);
    }
}

/// A server of files by path, for a test. It sends a file in 50 parts with a pause before each, and runs until the test ends.
#[cfg(feature = "debuginfod")]
pub(super) fn serve(files: std::collections::HashMap<String, PathBuf>, pause: std::time::Duration) -> String {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let path = lines.next().and_then(|line| Some(line.split(' ').nth(1)?.to_owned())).unwrap_or_default();
            lines.find(String::is_empty);
            let (status, body) = match files.get(&path) {
                Some(file) => ("200 OK", fs::read(file).unwrap()),
                None => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let parts = [head.as_bytes()].into_iter().chain(body.chunks(body.len() / 50 + 1));
            let _ =
                parts.map(|part| (std::thread::sleep(pause), stream.write_all(part))).find(|(_, sent)| sent.is_err());
        }
    });
    url
}

/// The text and the messages of a conversion with this server, and an empty or a filled cache.
#[cfg(feature = "debuginfod")]
fn downloaded(recording: &Path, url: &str, cache: &Path) -> (String, String) {
    let output = tempfile::NamedTempFile::new().unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_perfconv"))
        .arg(recording)
        .args(["-f", "-t", "perf-script", "--no-inline", &format!("--debuginfod={url}"), "-o"])
        .arg(output.path())
        .env("HOME", cache)
        .env("DEBUGINFOD_CACHE_PATH", cache)
        .env("DEBUGINFOD_TIMEOUT", "2")
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success(), "{messages}");
    (fs::read_to_string(output.path()).unwrap(), messages)
}

#[cfg(feature = "debuginfod")]
fn frames_of(text: &str, object: &str) -> usize {
    let end = format!("/bin/{object})");
    text.lines().filter(|line| line.contains("+0x") && line.contains(&end)).count()
}

/// A recording of a program, and the program.
#[cfg(feature = "debuginfod")]
pub(super) fn mill() -> (PathBuf, PathBuf) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    (directory.join("c.data"), directory.join("files/srv/sym/bin/mill-fp"))
}

#[test]
#[cfg(feature = "debuginfod")]
fn missing_objects_are_downloaded_from_debuginfod_servers() {
    let (recording, program) = mill();
    let id = Object::open(&program).unwrap().unwrap().build_id().unwrap();
    for kind in ["debuginfo", "executable"] {
        let cache = tempfile::tempdir().unwrap();
        let url = serve([(format!("/buildid/{id}/{kind}"), program.clone())].into(), std::time::Duration::ZERO);
        let (text, messages) = downloaded(&recording, &url, cache.path());
        assert!(frames_of(&text, "mill-fp") > 4000, "{messages}");
        assert!(
            messages.contains(&format!("/srv/sym/bin/mill-fp: downloading {url}/buildid/{id}/{kind}")),
            "{messages}"
        );
        let is_complete = kind == "debuginfo";
        let missing = format!("/srv/sym/bin/mill-fp (build ID {id}): no debuginfod server has its debuginfo");
        assert_eq!(messages.contains(&missing), !is_complete, "{messages}");
        // Now the file is in the cache, which is used without a server, too.
        let other = script(&recording, &["--symbols".as_ref(), "auto".as_ref()], cache.path());
        assert_eq!(frames_of(&other, "mill-fp"), 0, "the cache is another one");
        let (cached, messages) = downloaded(&recording, "http://127.0.0.1:1", cache.path());
        assert_eq!(cached, text, "{messages}");
    }
}

#[test]
#[cfg(feature = "debuginfod")]
fn a_debuginfod_server_that_hangs_costs_its_names() {
    let ((recording, _), cache) = (mill(), tempfile::tempdir().unwrap());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (text, messages) = downloaded(&recording, &url, cache.path());
    let warning = "perfconv: warning: /srv/sym/bin/mill-fp (build ID 207889b15e1b179344ede81d1d4ea6be94e4bc74)";
    assert!(messages.contains(warning) && messages.contains("not asked again"), "{messages}");
    assert!(text.lines().count() > 4000 && frames_of(&text, "mill-fp") == 0);
}

#[test]
#[cfg(feature = "debuginfod")]
fn objects_are_downloaded_from_debians_debuginfod() {
    let (recording, program) = mill();
    // Another program may take the port before the server does.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let server = Command::new("debuginfod")
        .args(["-F", "-p", &port, "-d", ":memory:"])
        .arg(program.parent().unwrap())
        .env("HOME", directory.path())
        .env_remove("DEBUGINFOD_URLS")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut server) = server else {
        super::program::note_missing_oracle("debuginfod");
        return println!("skipped: there is no debuginfod");
    };
    let url = format!("http://127.0.0.1:{port}");
    let mut found = 0;
    // The server answers while it still reads the files.
    for round in 0..60 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let cache = directory.path().join(format!("cache-{round}"));
        let (text, _) = downloaded(&recording, &url, &cache);
        found = frames_of(&text, "mill-fp");
        if found > 0 {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(found > 4000, "{found} frames");
}
