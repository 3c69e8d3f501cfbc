//! Functions, inlined functions and lines of addresses, compared with what llvm-symbolizer and addr2line say of them.

use super::symbolizers::{
    self, Comparison, Frame, Names, Share, answers, compare, heading, is_known, loose, place, shown_differences,
};
use crate::common::oracle::{note_missing_oracle, requires_oracles};
use crate::common::symbols::{addresses, corpus, recorded_path, script, unpacked};
#[cfg(feature = "debuginfod")]
use crate::common::symbols::{downloaded, frames_of, mill};
use perf_symbols::symbol::demangle::Demangle;
use perf_symbols::symbol::find::SearchOptions;
use perf_symbols::symbol::object::Object;
use perf_symbols::symbol::table::SymbolTable;
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Symbolizer};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a symbolizer says of the addresses of an object, as stored in the corpus.
fn golden(path: &Path) -> Option<Vec<Vec<Frame>>> {
    answers(&unpacked(path)?)
}

/// The frames of addresses of an object in the corpus.
fn resolve(corpus: &Path, object: &Path, addresses: Vec<u64>, threads: usize) -> Vec<Vec<Frame>> {
    symbolizers::resolve(SearchOptions::default().with_symfs(&corpus.join("symfs")), object, addresses, threads)
}

#[test]
fn addresses_resolve_as_by_llvm_and_binutils() {
    let Some(corpus) = corpus() else {
        note!("skipped: there is no ../shared/symbols");
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
        let comparison = compare(&names, &ours, &llvm, &addr2line);
        table += &comparison.row(name);
        for difference in comparison.differences.iter().take(shown_differences()) {
            table += &format!("    {difference}\n");
        }
        total.addresses += comparison.addresses;
        for (sum, share) in [
            (&mut total.llvm, comparison.llvm),
            (&mut total.addr2line, comparison.addr2line),
            (&mut total.either, comparison.either),
            (&mut total.places, comparison.places),
            (&mut total.inlined, comparison.inlined),
        ] {
            sum.equal += share.equal;
            sum.all += share.all;
        }
        if name == lists.last().unwrap() {
            table += &total.row(&format!("all {}", lists.len()));
        }
        let (names, places, inlined) = (comparison.either, comparison.places, comparison.inlined);
        for (what, share, target) in [("names", names, 99.0), ("file:ln", places, 99.5), ("inlined", inlined, 99.0)] {
            if share.percent() < target {
                failures.push(format!("{name}: {what} {}", share.shown()));
            }
        }
    }
    note!("{table}");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// C++ libraries of this machine and of the corpus.
fn cpp_libraries() -> Vec<PathBuf> {
    const NAMES: [&str; 4] = ["libstdc++.so.", "libLLVM-", "libclang-cpp.so.", "libQt5"];
    let system = PathBuf::from("/usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
    let corpus = corpus().map(|corpus| corpus.join("symfs/usr/lib/x86_64-linux-gnu"));
    let files = [Some(system), corpus].into_iter().flatten().filter_map(|path| fs::read_dir(path).ok()).flatten();
    let library = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let rank = NAMES.iter().position(|start| name.starts_with(start))?;
        Some((rank, entry.path().canonicalize().ok()?))
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
            note!("skipped: there is no c++filt");
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
                note!("{name}\n  {own}\n  {expected}");
            }
        }
        let shown = share.shown();
        note!("{demangle:?}: {shown} % of {} names of {libraries} libraries; {unknown} not in c++filt", share.all);
        assert!(share.all > enough && share.percent() >= 99.5);
    }
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
        note!("skipped: there is no gcc or ld");
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
            note!("skipped: there is no addr2line");
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
        for (index, expected) in expected.iter().enumerate() {
            let frames = resolved.symbols.frames(0, index).iter().map(|frame| {
                let function = frame.function.and_then(|id| resolved.symbols.function(id));
                let name = function.map_or(&b"??"[..], |function| resolved.symbols.name(function.name));
                (String::from_utf8_lossy(name).into_owned(), frame.line)
            });
            let own: Vec<_> = frames.collect();
            // binutils takes padding for a part of the function before it.
            if own.first().is_some_and(|(name, _)| name != "??") {
                assert_eq!(&own, expected, "{name}+{:#x}", offsets[index]);
                compared += 1;
                with_inlined += usize::from(own.len() > 1);
            }
        }
    }
    note!("{compared} addresses, {with_inlined} with inlined functions");
    assert!(compared > 40 && with_inlined > 8);
    // Without its build ID, it may be a module of another build.
    search.release = Some("6.1".to_owned());
    let requests = [Request::new(key(None), Addresses::Offsets(vec![8]))];
    let resolved = Symbolizer::new(Options::default(), search).resolve(&requests);
    assert_eq!(resolved.objects[0].with_function, 0);
}

#[test]
fn a_cache_of_perf_has_the_objects() {
    let Some(corpus) = corpus() else {
        note!("skipped: there is no ../shared/symbols");
        return;
    };
    // What `perf archive` packs, and `tar x -C ~/.debug` unpacks.
    let home = tempfile::tempdir().unwrap();
    let cache = home.path().join(".debug");
    let program = corpus.join("symfs/srv/sym/bin/mill-fp");
    let added =
        Command::new("perf").arg("--buildid-dir").arg(&cache).args(["buildid-cache", "--add"]).arg(&program).output();
    if !added.is_ok_and(|output| output.status.success()) {
        note!("skipped: there is no perf");
        return;
    }
    let recording = corpus.join("rec/d-fp-c.data");
    let texts = [script(&recording, &[], home.path()), {
        let empty = tempfile::tempdir().unwrap();
        script(&recording, &["--buildid-dir".as_ref(), cache.as_ref()], empty.path())
    }];
    for text in texts {
        let named = text.lines().filter(|line| line.contains("+0x") && line.contains("/bin/mill-fp)")).count();
        note!("{named} named frames");
        assert!(named > 1000);
    }
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
        note_missing_oracle("debuginfod");
        return note!("skipped: there is no debuginfod");
    };
    let url = format!("http://127.0.0.1:{port}");
    let mut count = 0;
    // The server answers while it still reads the files.
    for round in 0..60 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let cache = directory.path().join(format!("cache-{round}"));
        let (text, _) = downloaded(&recording, &url, &cache);
        count = frames_of(&text, "mill-fp");
        if count > 0 {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(count > 4000, "{count} frames");
}

#[test]
fn a_stripped_program_has_the_functions_of_its_mini_debug_info() {
    let Some(corpus) = corpus() else {
        note!("skipped: there is no ../shared/symbols");
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
    note!("foundry-mini: {} % of {} names", share.shown(), share.all);
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
        note!("skipped: there is no ../shared/symbols");
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
    let comparison = compare(&Names::default(), &ours, &llvm, &addr2line);
    note!("{}{}", heading(), comparison.row("ferry-s"));
    comparison.differences.iter().take(shown_differences()).for_each(|difference| note!("{difference}"));
    assert!(
        comparison.either.percent() >= 99.0
            && comparison.places.percent() >= 99.0
            && comparison.inlined.percent() >= 99.0
    );
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
        note!("skipped: there is no ../shared/symbols");
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
    note!("{} % of {} frames of JIT code", share.shown(), share.all);
    assert!(share.all > 800 && share.equal == share.all, "{} of {}", share.equal, share.all);
    assert!(own.iter().flatten().any(|name| *name == "[unknown]"), "stubs are not in the jitdump");
}
