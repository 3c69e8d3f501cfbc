//! Functions, inlined functions and lines of programs built by the compilers of this machine, in all forms of debug information,
//! compared with what llvm-symbolizer and addr2line say of them.

use super::symbolizers::{Comparison, Frame, Names, answers, compare, heading, resolve, resolve_key};
use crate::common::oracle::{has_program, llvm_tool, note_missing_oracle, path_with_llvm, requires_oracles};
use object::{Object, ObjectSection};
use perf_symbols::object::build_id_note::{self, Elf};
use perf_symbols::symbol::ObjectKey;
use perf_symbols::symbol::find::SearchOptions;
use perfconv::bundle::files::{FileSearch, PackedFile};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A program in one form: from its source `$SRC`, a script builds `program` in its own directory.
struct Program {
    name: &'static str,
    script: &'static str,
    /// What it has: the form in which it is compared.
    has: Contents,
}

/// What a program has debug information of.
#[derive(Clone, Copy, PartialEq)]
enum Contents {
    /// Functions, inlined functions and lines.
    All,
    /// Functions.
    Functions,
}

const fn with_lines(name: &'static str, script: &'static str) -> Program {
    Program { name, script, has: Contents::All }
}

const fn with_functions(name: &'static str, script: &'static str) -> Program {
    Program { name, script, has: Contents::Functions }
}

/// Each script builds `program`, and `reference`, the same code with its debug information in the file, for the other symbolizers;
/// without it, that is the program itself.
const PROGRAMS: &[Program] = &[
    with_lines("c", "gcc -O2 -g $SRC/grid.c -o program"),
    with_lines("c-O0", "gcc -O0 -g $SRC/grid.c -o program"),
    with_lines("c-dwarf-4", "gcc -O2 -g -gdwarf-4 $SRC/grid.c -o program"),
    with_lines("c-dwarf-3", "gcc -O2 -g -gdwarf-3 $SRC/grid.c -o program"),
    with_lines("c-dwarf-2", "gcc -O2 -g -gdwarf-2 $SRC/grid.c -o program"),
    with_lines("c-gz", "gcc -O2 -g -gz=zlib $SRC/grid.c -o program"),
    with_lines("c-zdebug", "gcc -O2 -g -gz=zlib-gnu $SRC/grid.c -o program && gcc -O2 -g $SRC/grid.c -o reference"),
    with_lines(
        "c-zstd",
        "gcc -O2 -g $SRC/grid.c -o reference && objcopy --compress-debug-sections=zstd reference program",
    ),
    with_lines("c-lto", "gcc -O2 -flto -g $SRC/grid.c -o program"),
    with_lines("c-sections", "gcc -O2 -g -ffunction-sections -Wl,--gc-sections $SRC/grid.c -o program"),
    with_lines("c-static", "gcc -O2 -g -static $SRC/grid.c -o program"),
    with_lines("c-static-pie", "gcc -O2 -g -static-pie $SRC/grid.c -o program"),
    with_lines("c-no-pie", "gcc -O2 -g -no-pie $SRC/grid.c -o program"),
    with_lines(
        "c-split",
        "gcc -O2 -g -gsplit-dwarf -c $SRC/grid.c -o grid.o && gcc grid.o -o program && gcc -O2 -g $SRC/grid.c -o reference",
    ),
    with_lines(
        "c-dwp",
        "gcc -O2 -g -gsplit-dwarf -c $SRC/grid.c -o grid.o && gcc grid.o -o program && llvm-dwp -e program -o program.dwp \
         && rm *.dwo && gcc -O2 -g $SRC/grid.c -o reference",
    ),
    with_lines(
        "c-dwarf-4-dwp",
        "gcc -O2 -g -gdwarf-4 -gsplit-dwarf -c $SRC/grid.c -o grid.o && gcc grid.o -o program \
         && dwp -e program -o program.dwp && rm *.dwo && gcc -O2 -g -gdwarf-4 $SRC/grid.c -o reference",
    ),
    with_lines(
        "c-dwz",
        "gcc -O2 -g $SRC/grid.c -o reference && cp reference program && cp reference other \
         && dwz -m common.debug program other",
    ),
    with_lines(
        "c-debuglink",
        "gcc -O2 -g -Wl,--build-id=none $SRC/grid.c -o reference && objcopy --only-keep-debug reference program.debug \
         && objcopy -S --add-gnu-debuglink=program.debug reference program",
    ),
    with_lines(
        "c-build-id",
        "gcc -O2 -g -Wl,--build-id=0xabcdef0123456789 $SRC/grid.c -o reference && strip reference -o program \
         && mkdir -p debug/.build-id/ab && objcopy --only-keep-debug reference debug/.build-id/ab/cdef0123456789.debug",
    ),
    with_functions("c-symbols", "gcc -O2 -g $SRC/grid.c -o reference && strip -g reference -o program"),
    with_functions(
        "c-minidebuginfo",
        "gcc -O2 -g $SRC/grid.c -o reference && objcopy --only-keep-debug reference debug && strip -g debug -o mini \
         && xz -q mini && objcopy -S --add-section .gnu_debugdata=mini.xz reference program",
    ),
    with_lines("c-clang", "clang -O2 -g $SRC/grid.c -o program"),
    with_lines("c-clang-zstd", "clang -O2 -g -gz=zstd $SRC/grid.c -o program && clang -O2 -g $SRC/grid.c -o reference"),
    with_lines("c-lld", "clang -fuse-ld=lld -O2 -g -Wl,--icf=all -ffunction-sections $SRC/grid.c -o program"),
    with_lines(
        "c-lld-split",
        "clang -fuse-ld=lld -O2 -g -gsplit-dwarf -c $SRC/grid.c -o grid.o && clang -fuse-ld=lld grid.o -o program \
         && clang -fuse-ld=lld -O2 -g $SRC/grid.c -o reference",
    ),
    with_lines("cpp", "g++ -std=c++17 -O2 -g $SRC/shapes.cpp -o program"),
    with_lines("cpp-O0", "g++ -std=c++17 -O0 -g $SRC/shapes.cpp -o program"),
    with_lines("cpp-dwarf-4", "g++ -std=c++17 -O2 -gdwarf-4 $SRC/shapes.cpp -o program"),
    with_lines("cpp-types", "g++ -std=c++17 -O2 -g -fdebug-types-section $SRC/shapes.cpp -o program"),
    with_lines(
        "cpp-dwp",
        "g++ -std=c++17 -O2 -g -gsplit-dwarf -c $SRC/shapes.cpp -o shapes.o && g++ shapes.o -o program \
         && llvm-dwp -e program -o program.dwp && rm *.dwo && g++ -std=c++17 -O2 -g $SRC/shapes.cpp -o reference",
    ),
    with_lines(
        "cpp-dwz",
        "g++ -std=c++17 -O2 -g $SRC/shapes.cpp -o reference && cp reference program && cp reference other \
         && dwz -m common.debug program other",
    ),
    with_functions(
        "cpp-symbols",
        "g++ -std=c++17 -O2 -g $SRC/shapes.cpp -o reference && strip -g reference -o program",
    ),
    with_lines("cpp-clang", "clang++ -std=c++17 -O2 -g $SRC/shapes.cpp -o program"),
    with_lines("cpp-lld", "clang++ -fuse-ld=lld -std=c++17 -O2 -g $SRC/shapes.cpp -o program"),
    with_lines("cpp-lines", "clang++ -std=c++17 -O2 -gline-tables-only $SRC/shapes.cpp -o program"),
    with_lines("rust", "rustc -O -g $SRC/wheels.rs -o program"),
    with_lines("rust-debug", "rustc -g $SRC/wheels.rs -o program"),
    with_lines("rust-v0", "rustc -O -g -C symbol-mangling-version=v0 $SRC/wheels.rs -o program"),
    with_lines(
        "rust-packed",
        "rustc -O -g -C split-debuginfo=packed $SRC/wheels.rs -o program && rustc -O -g $SRC/wheels.rs -o reference",
    ),
    with_lines("go", "go build -o program $SRC/lanes.go"),
    with_lines("go-stripped", "go build -o reference $SRC/lanes.go && strip -s reference -o program"),
];

/// Runs a program with addresses on its standard input.
fn ask(program: &Path, arguments: &[&str], object: &Path, addresses: &[u64]) -> Option<Vec<Vec<Frame>>> {
    let list = tempfile::NamedTempFile::new().unwrap();
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    fs::write(list.path(), text).unwrap();
    let mut command = Command::new(program);
    command.args(arguments).arg(object).stdin(fs::File::open(list.path()).unwrap()).stderr(Stdio::null());
    let output = command.output().ok()?;
    let answers = answers(&String::from_utf8_lossy(&output.stdout))?;
    assert_eq!(answers.len(), addresses.len(), "{command:?}");
    Some(answers)
}

/// Maximum number of addresses of a program: addr2line takes long for some.
const ADDRESSES: usize = 3000;

/// Every 16th address of the code, or of a large program every 32nd, or the like.
fn text_addresses(object: &Path) -> Vec<u64> {
    let bytes = fs::read(object).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let text = file.section_by_name(".text").unwrap();
    let step = 16 * (text.size() as usize / 16).div_ceil(ADDRESSES);
    (text.address()..text.address() + text.size()).step_by(step).collect()
}

fn text(object: &Path) -> Vec<u8> {
    let bytes = fs::read(object).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.section_by_name(".text").unwrap().data().unwrap().to_vec()
}

/// Builds a program; `None` if its compiler or another tool is missing.
fn build(program: &Program, directory: &Path) -> Option<()> {
    let tools = program.script.split("&&").filter_map(|command| command.split_whitespace().next());
    let path = path_with_llvm();
    let is_found = |tool: &str| std::env::split_paths(&path).any(|directory| directory.join(tool).is_file());
    if let Some(tool) = tools.into_iter().find(|tool| !is_found(tool)) {
        note_missing_oracle(&format!("{tool}, for the program {},", program.name));
        return None;
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let output = Command::new("sh")
        .args(["-ec", program.script])
        .current_dir(directory)
        .env("PATH", &path)
        .env("SRC", sources)
        .env("GO111MODULE", "off")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}: {}", program.name, String::from_utf8_lossy(&output.stderr));
    Some(())
}

/// Compares the answers for a program; `None` if a program that this needs is missing.
fn compared(program: &Program) -> Option<Comparison> {
    let directory = tempfile::tempdir().unwrap();
    build(program, directory.path())?;
    let built = directory.path().join("program");
    let mut reference = directory.path().join("reference");
    if !reference.exists() {
        reference = built.clone();
    }
    assert!(text(&built) == text(&reference), "{}: the reference has other code", program.name);
    let addresses = text_addresses(&reference);
    let arguments = ["--inlines", "--demangle", "--functions=linkage", "--addresses", "-e"];
    let llvm = llvm_tool("llvm-symbolizer").and_then(|llvm| ask(&llvm, &arguments, &reference, &addresses));
    let addr2line = ask(Path::new("addr2line"), &["-afiCe"], &reference, &addresses);
    let (Some(mut llvm), Some(mut addr2line)) = (llvm, addr2line) else {
        note_missing_oracle("llvm-symbolizer or addr2line");
        return None;
    };
    let mut search = SearchOptions::default();
    search.debug_dirs = vec![directory.path().join("debug")];
    let mut ours = resolve(search.clone(), &built, addresses.clone(), 2);
    resolves_from_an_archive(&built, search, addresses, &ours);
    if program.has == Contents::Functions {
        let outermost = |frames: &mut Vec<Frame>| {
            frames.drain(..frames.len().saturating_sub(1));
            frames.iter_mut().for_each(|frame| (frame.1, frame.2) = (String::new(), 0));
        };
        [&mut ours, &mut llvm, &mut addr2line].into_iter().flatten().for_each(outermost);
    }
    Some(compare(&Names::of_object(&reference), &ours, &llvm, &addr2line))
}

/// Checks that the packed files of an object resolve as the installed ones, which are removed.
fn resolves_from_an_archive(object: &Path, search: SearchOptions, addresses: Vec<u64>, expected: &[Vec<Frame>]) {
    let archive = tempfile::tempdir().unwrap();
    let (name, files) = (object.as_os_str().as_encoded_bytes(), FileSearch::new(search));
    let id = match build_id_note::read(object).unwrap() {
        Elf::Id(id) => Some(id),
        _ => None,
    };
    let by_id = id.map_or_else(Vec::new, |id| files.object(name, id, false));
    assert_eq!(by_id.is_empty(), id.is_none());
    for PackedFile { entry, path, .. } in
        by_id.into_iter().chain(files.without_build_id(name, None)).flat_map(|object| object.files)
    {
        let copy = archive.path().join(entry);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(path, copy).unwrap();
    }
    let hidden = object.parent().unwrap().with_extension("hidden");
    fs::rename(object.parent().unwrap(), &hidden).unwrap();
    let mut search = SearchOptions::default();
    search.build_id_dirs.push(archive.path().into());
    search.archive_dirs.push(archive.path().into());
    for build_id in [None, id].into_iter().take(if id.is_some() { 2 } else { 1 }) {
        let key = ObjectKey { path: object.into(), build_id, ..ObjectKey::default() };
        assert!(resolve_key(search.clone(), key, addresses.clone(), 2) == expected, "{}", object.display());
    }
    fs::rename(hidden, object.parent().unwrap()).unwrap();
}

/// Known differences: the program, what they contain, and why they are right.
const KNOWN: &[(&str, &str, &str)] = &[
    ("c-static", "_ifunc\"]", "the resolver of an indirect function has its public name, which perf prefers"),
    ("c-static-pie", "_ifunc\"]", "the resolver of an indirect function has its public name, which perf prefers"),
    ("go-stripped", "type..eq.[...]", "the function table of Go shortens types in brackets"),
    (
        "go-stripped",
        "runtime.lockRank.String",
        "the function table of Go has methods that are inlined into their wrappers",
    ),
];

#[test]
fn programs_of_all_compilers_resolve_as_by_llvm_and_binutils() {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Comparison>>> = PROGRAMS.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        for index in
            std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed)).take_while(|&at| at < PROGRAMS.len())
        {
            *results[index].lock().unwrap() = compared(&PROGRAMS[index]);
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let (mut table, mut programs) = (heading(), 0);
    let (mut known, mut unknown) = ([0; KNOWN.len()], Vec::new());
    for (program, result) in PROGRAMS.iter().zip(results) {
        let Some(found) = result.into_inner().unwrap() else { continue };
        programs += 1;
        // Even the smallest program has 20 functions.
        assert!(found.addresses > 50 && found.either.all > 40, "{}: compared too little", program.name);
        table += &found.row(program.name);
        for difference in found.differences {
            let is_known = |(of, text, _): &(&str, &str, &str)| *of == program.name && difference.contains(text);
            match KNOWN.iter().position(is_known) {
                Some(kind) => known[kind] += 1,
                None => unknown.push(format!("{}: {difference}", program.name)),
            }
        }
    }
    note!("{table}");
    for ((program, _, why), count) in KNOWN.iter().zip(known) {
        note!("{count:6} known differences of {program}: {why}");
        assert!(count > 0 || !table.contains(program), "no longer a difference: {why}");
    }
    note!("{programs} of {} programs compared", PROGRAMS.len());
    assert!(programs == PROGRAMS.len() || !requires_oracles(), "compared only {programs} programs");
    assert!(unknown.is_empty(), "{} differences: {:#?}", unknown.len(), &unknown[..unknown.len().min(20)]);
}

#[test]
fn inlined_functions_have_the_names_of_their_scopes() {
    const EXPECTED: [&str; 7] = [
        "(anonymous namespace)::Visitor::operator()",
        "(anonymous namespace)::Visitor::visit<int>",
        "(anonymous namespace)::hidden",
        "shop::(anonymous namespace)::deep::Either::get",
        "shop::detail::stocked",
        "work::Local::run",
        "work::{lambda}::operator()",
    ];
    let programs = [
        with_lines("scopes", "g++ -O2 -g $SRC/scopes.cpp -o program"),
        with_lines("scopes-dwarf-4", "g++ -O2 -gdwarf-4 $SRC/scopes.cpp -o program"),
        with_lines("scopes-types", "g++ -O2 -gdwarf-5 -fdebug-types-section $SRC/scopes.cpp -o program"),
        with_lines("scopes-dwarf-4-types", "g++ -O2 -gdwarf-4 -fdebug-types-section $SRC/scopes.cpp -o program"),
        with_lines("scopes-split", "g++ -O2 -g -gsplit-dwarf $SRC/scopes.cpp -o program"),
        with_lines(
            "scopes-split-types",
            "g++ -O2 -gdwarf-5 -gsplit-dwarf -fdebug-types-section $SRC/scopes.cpp -o program",
        ),
        with_lines(
            "scopes-dwarf-4-split-types",
            "g++ -O2 -gdwarf-4 -gsplit-dwarf -fdebug-types-section $SRC/scopes.cpp -o program",
        ),
        with_lines(
            "scopes-dwz",
            "g++ -O2 -g $SRC/scopes.cpp -o program && cp program other && dwz -m common.debug program other",
        ),
    ];
    for program in programs {
        let directory = tempfile::tempdir().unwrap();
        if build(&program, directory.path()).is_none() {
            continue;
        }
        let built = directory.path().join("program");
        let bytes = fs::read(&built).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let text = file.section_by_name(".text").unwrap();
        let addresses: Vec<u64> = (text.address()..text.address() + text.size()).collect();
        let frames = resolve(SearchOptions::default(), &built, addresses, 1);
        let inlined = frames.into_iter().flat_map(|mut frames| {
            frames.pop();
            frames
        });
        let names: BTreeSet<String> = inlined.map(|(name, _, _)| name).collect();
        assert!(names.iter().eq(EXPECTED), "{}: {names:#?}", program.name);
    }
}

#[test]
fn stubs_have_the_names_that_objdump_shows() {
    if !["gcc", "objdump"].iter().all(|program| has_program(program)) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, program) = (directory.path().join("stubs.c"), directory.path().join("stubs"));
    // A function that is both called and referred to has a stub in `.plt.got`.
    let code = "#include <stdlib.h>\nint main(int n, char **a) { void *(*f)(size_t) = malloc; free(f(n)); free(malloc(n)); return 0; }\n";
    fs::write(&source, code).unwrap();
    for options in [&["-fcf-protection=none"][..], &["-fcf-protection", "-Wl,-z,ibt,-z,ibtplt"], &["-Wl,-z,lazy"]] {
        let is_built =
            Command::new("gcc").args(options).arg(&source).arg("-o").arg(&program).status().unwrap().success();
        assert!(is_built, "{options:?}");
        let listed = Command::new("objdump").arg("-d").arg(&program).output().unwrap().stdout;
        let listed = String::from_utf8(listed).unwrap();
        let label = |line: &str| {
            let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
            Some((u64::from_str_radix(address, 16).ok()?, name.strip_suffix("@plt")?.to_owned()))
        };
        let (addresses, names): (Vec<_>, Vec<_>) = listed.lines().filter_map(label).unzip();
        let ours = resolve(SearchOptions::default(), &program, addresses, 1);
        let ours: Vec<_> = ours.iter().map(|frames| frames.last().map(|frame| &*frame.0).unwrap_or_default()).collect();
        note!("{options:?}: {names:?}");
        assert!(
            names.len() >= 2 && ours == names.iter().map(|name| format!("{name}@plt")).collect::<Vec<_>>(),
            "{ours:?}"
        );
    }
}
