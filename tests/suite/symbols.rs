//! Functions, inlined functions and lines of addresses, compared with what llvm-symbolizer and addr2line say of them.

use perfconv::symbol::demangle::Demangle;
use perfconv::symbol::find::SearchOptions;
use perfconv::symbol::object::Object;
use perfconv::symbol::table::SymbolTable;
use perfconv::symbol::{Addresses, ObjectKey, Options, Request, Resolved, Symbolizer};
use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A frame: name of the function, path, line.
type Frame = (String, String, u32);

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

/// What a symbolizer says of each address: lines of its functions and places, behind a line with the address.
fn golden(path: &Path) -> Option<Vec<Vec<Frame>>> {
    let (mut found, mut name): (Vec<Vec<Frame>>, Option<&str>) = (Vec::new(), None);
    let text = unpacked(path)?;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let digits = line.strip_prefix("0x").unwrap_or_default();
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            found.push(Vec::new());
        } else if let Some(function) = name.take() {
            let (file, number) = place(line);
            let function = if function.contains('$') { unescaped(function) } else { function.to_owned() };
            found.last_mut()?.push((function, file, number));
        } else {
            name = Some(line);
        }
    }
    Some(found)
}

/// `FILE:LINE`, maybe with a column or a discriminator.
fn place(text: &str) -> (String, u32) {
    let text = text.split(" (discriminator").next().unwrap_or_default();
    let mut words = text.rsplitn(3, ':');
    let numbers = [words.next(), words.next()];
    let rest = words.next();
    let number = |word: Option<&str>| word.and_then(|word| word.parse().ok());
    let (file, line) = match (number(numbers[0]), number(numbers[1]), rest) {
        (Some(_), Some(line), Some(file)) => (file, line),
        (Some(line), _, _) => (text.rsplit_once(':').map_or("", |(file, _)| file), line),
        _ => ("", 0),
    };
    let file = file.strip_prefix("./").unwrap_or(file);
    let is_known = line != 0 && file != "??" && !file.is_empty();
    if is_known { (file.to_owned(), line) } else { (String::new(), 0) }
}

/// A name without parameters, return types and clone suffixes, so that names of several demanglers compare.
fn loose(name: &str) -> String {
    let mut name = name.split(" [clone").next().unwrap_or_default().split(" (.").next().unwrap_or_default().to_owned();
    for suffix in [".cold", ".part", ".isra", ".constprop", ".lto_priv", ".llvm", ".localalias", ".abi0", "@"] {
        if let Some(at) = name.find(suffix) {
            name.truncate(at);
        }
    }
    if let Some(at) = name.rfind("::h").filter(|at| name.len() == at + 19) {
        name.truncate(at);
    }
    name = name.replace("std::__cxx11::", "std::").replace("(anonymous namespace)", "{anonymous}");
    name = name.replace("operator<< <", "operator<<<").replace("operator()", "operator{}");
    name = name.replace("std::nullptr_t", "decltype{nullptr}");
    name = name.replace("decltype(nullptr)", "decltype{nullptr}");
    name = name.replace("'lambda'", "{lambda#1}").replace("'lambda0'", "{lambda#2}");
    while name.contains("> >") {
        name = name.replace("> >", ">>");
    }
    without_parameters(&without_literal_types(&without_hashes(&name)))
}

/// What is escaped in legacy names of Rust, which llvm-symbolizer takes for C++.
fn unescaped(name: &str) -> String {
    const ESCAPES: [(&str, &str); 18] = [
        ("_$LT$", "<"),
        ("_$u7b$", "{"),
        ("$LT$", "<"),
        ("$GT$", ">"),
        ("$u20$", " "),
        ("$u7b$", "{"),
        ("$u7d$", "}"),
        ("$u5b$", "["),
        ("$u5d$", "]"),
        ("$u27$", "'"),
        ("$RF$", "&"),
        ("$BP$", "*"),
        ("$C$", ","),
        ("$LP$", "("),
        ("$RP$", ")"),
        ("$u2b$", "+"),
        ("$u3d$", "="),
        ("..", "::"),
    ];
    ESCAPES.iter().fold(name.to_owned(), |name, (escape, plain)| name.replace(escape, plain))
}

/// Without `[0123456789abcdef]` behind names of crates.
fn without_hashes(name: &str) -> String {
    let (mut out, mut rest) = (String::new(), name);
    while let Some(at) = rest.find('[') {
        let end = rest[at..].find(']').map_or(rest.len(), |end| at + end);
        let inside = &rest[at + 1..end.max(at + 1)];
        let is_hash = (6..=16).contains(&inside.len()) && inside.bytes().all(|byte| byte.is_ascii_hexdigit());
        out.push_str(&rest[..if is_hash { at } else { at + 1 }]);
        rest = if is_hash { &rest[(end + 1).min(rest.len())..] } else { &rest[at + 1..] };
    }
    out + rest
}

/// Without casts and suffixes of numbers.
fn without_literal_types(name: &str) -> String {
    let mut out = String::new();
    let mut rest = name;
    while let Some(at) = rest.find('(') {
        out.push_str(&rest[..at]);
        let end = rest[at..].find(')').map(|end| at + end);
        let is_cast = end.is_some_and(|end| {
            let is_type = rest[at + 1..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_ ".contains(&byte));
            is_type && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '-')
        });
        match end {
            Some(end) if is_cast => rest = &rest[end + 1..],
            _ => {
                out.push('(');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    let mut plain = String::new();
    let mut is_number = false;
    for c in out.chars() {
        if is_number && (c == 'u' || c == 'l') {
            continue;
        }
        let last_is_word = plain.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        is_number = c.is_ascii_digit() && (is_number || !last_is_word);
        plain.push(c);
    }
    plain
}

fn without_parameters(name: &str) -> String {
    let (mut out, mut angles, mut round) = (String::new(), 0i32, 0i32);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let operators = ["<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"];
        let operator = rest.strip_prefix("operator").and_then(|rest| {
            let name = operators.iter().find(|operator| rest.starts_with(**operator))?;
            Some("operator".len() + name.len())
        });
        if let Some(len) = operator.filter(|_| round == 0) {
            out.push_str(&rest[..len]);
            rest = &rest[len..];
            continue;
        }
        match c {
            '<' => angles += 1,
            '>' if !out.ends_with('-') => angles -= 1,
            '(' if angles <= 0 => round += 1,
            _ => {}
        }
        if round == 0 {
            out.push(c);
        }
        if c == ')' && angles <= 0 {
            round = (round - 1).max(0);
        }
        rest = &rest[c.len_utf8()..];
    }
    let mut out = out.trim().to_owned();
    for suffix in [" const", " volatile", " &&", " &"] {
        if let Some(shorter) = out.strip_suffix(suffix) {
            out = shorter.to_owned();
        }
    }
    without_return_type(&out.replace(" const::", "::"))
}

fn without_return_type(name: &str) -> String {
    let (mut depth, mut start) = (0, 0);
    let end = name.find("operator").unwrap_or(name.len());
    for (at, c) in name[..end].char_indices() {
        match c {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    if name.starts_with('<') && name[..start].contains(" as ") { name.to_owned() } else { name[start..].to_owned() }
}

/// Equal of so many.
#[derive(Clone, Copy, Default)]
struct Share {
    equal: u64,
    all: u64,
}

impl Share {
    fn add(&mut self, is_equal: bool) {
        self.equal += u64::from(is_equal);
        self.all += 1;
    }

    fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { 100.0 * self.equal as f64 / self.all as f64 }
    }

    fn shown(self) -> String {
        if self.all == 0 { "-".to_owned() } else { format!("{:.2}", self.percent()) }
    }
}

/// How an object compares with the symbolizers.
#[derive(Default)]
struct Comparison {
    addresses: u64,
    /// Names that llvm-symbolizer knows, that addr2line knows, and those that are equal to one of them.
    llvm: Share,
    addr2line: Share,
    either: Share,
    /// Places on which both agree.
    places: Share,
    /// Lists of inlined functions that are equal to one of them.
    inlined: Share,
    differences: Vec<String>,
}

impl Comparison {
    fn row(&self, name: &str) -> String {
        let [a, b, c, d, e] = [self.llvm, self.addr2line, self.either, self.places, self.inlined].map(Share::shown);
        format!("{name:22} {:>9} {a:>7} {b:>9} {c:>7} {d:>7} {e:>7}\n", self.addresses)
    }
}

fn heading() -> String {
    format!(
        "{:22} {:>9} {:>7} {:>9} {:>7} {:>7} {:>7}\n",
        "object", "addresses", "llvm", "addr2line", "either", "file:ln", "inlined"
    )
}

/// How many differences are shown of each object.
fn shown_differences() -> usize {
    std::env::var("PERFCONV_SHOW_DIFFERENCES").ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The addresses of a list.
fn addresses(path: &Path) -> Vec<u64> {
    let text = unpacked(path).unwrap();
    text.lines().map(|line| u64::from_str_radix(line.trim_start_matches("0x"), 16).unwrap()).collect()
}

struct Names {
    aliases: HashMap<String, String>,
}

impl Names {
    fn read(corpus: &Path) -> Self {
        let text = fs::read_to_string(corpus.join("expected/aliases.tsv")).unwrap_or_default();
        let mut aliases = HashMap::new();
        for line in text.lines() {
            let mut names = line.split('\t');
            let first = names.next().unwrap_or_default().to_owned();
            for name in names {
                aliases.entry(name.to_owned()).or_insert_with(|| first.clone());
            }
        }
        Self { aliases }
    }

    fn of(&self, name: &str) -> String {
        let name = loose(name);
        self.aliases.get(&name).cloned().unwrap_or(name)
    }
}

/// Whether a symbolizer names a frame. llvm-symbolizer leaves what it cannot demangle.
fn is_known(frame: &Frame) -> bool {
    frame.0 != "??" && !frame.0.starts_with("_Z")
}

/// The names of each frame of an address that one of the symbolizers gives it; none where neither knows it.
fn accepted(names: &Names, llvm: &[Frame], addr2line: &[Frame]) -> Vec<Vec<String>> {
    // addr2line reads no split DWARF, llvm-symbolizer no names that dwz moved.
    let depth = if llvm.iter().any(|frame| frame.0 != "??") { llvm.len() } else { addr2line.len() };
    let outermost = addr2line.last().map(|frame| &frame.0);
    let of = |place: usize| {
        let is_outermost = place + 1 == depth;
        let llvm = llvm.get(place).filter(|frame| is_known(frame));
        // addr2line gives an inlined function without a linkage name that of the symbol.
        let addr2line = addr2line.get(place).filter(|frame| is_known(frame));
        let addr2line = addr2line.filter(|frame| llvm.is_some() || is_outermost || Some(&frame.0) != outermost);
        llvm.into_iter().chain(addr2line).map(|frame| names.of(&frame.0)).collect()
    };
    (0..depth).map(of).collect()
}

fn compare(names: &Names, ours: &[Vec<Frame>], llvm: &[Vec<Frame>], addr2line: &[Vec<Frame>]) -> Comparison {
    let mut result = Comparison { addresses: ours.len() as u64, ..Comparison::default() };
    let knows_any = llvm.iter().flatten().any(is_known);
    let all = ours.iter().zip(llvm.iter().zip(addr2line)).enumerate();
    for (number, (frames, (llvm, addr2line))) in all {
        // addr2line takes an address behind the end of a symbol for one in it.
        if knows_any && !llvm.iter().any(is_known) {
            continue;
        }
        let own = |place: usize| frames.get(place).map(|own| names.of(&own.0));
        for (golden, share) in [(llvm, &mut result.llvm), (addr2line, &mut result.addr2line)] {
            let known = golden.iter().enumerate().filter(|(_, frame)| is_known(frame));
            known.for_each(|(place, frame)| share.add(own(place) == Some(names.of(&frame.0))));
        }
        let accepted = accepted(names, llvm, addr2line);
        for (place, names) in accepted.iter().enumerate().filter(|(_, names)| !names.is_empty()) {
            let is_equal = own(place).is_some_and(|own| names.contains(&own));
            result.either.add(is_equal);
            if !is_equal {
                result.differences.push(format!("#{number}.{place} name {names:?} | {:?}", own(place)));
            }
        }
        for (place, (a, b)) in llvm.iter().zip(addr2line).enumerate() {
            if llvm.len() == addr2line.len() && (&a.1, a.2) == (&b.1, b.2) && a.2 != 0 {
                let own = frames.get(place).map(|own| (&own.1, own.2));
                let is_equal = own == Some((&a.1, a.2));
                result.places.add(is_equal);
                if !is_equal {
                    result.differences.push(format!("#{number}.{place} line {}:{} | {own:?}", a.1, a.2));
                }
            }
        }
        if llvm.iter().chain(addr2line).any(is_known) {
            let is_equal = accepted.len() == frames.len();
            let is_accepted = |place: usize| {
                accepted[place].is_empty() || own(place).is_some_and(|own| accepted[place].contains(&own))
            };
            result.inlined.add(is_equal && (0..frames.len() - 1).all(is_accepted));
            if !is_equal {
                result.differences.push(format!("#{number} inlined {accepted:?} | {frames:?}"));
            }
        }
    }
    result
}

/// The frames of addresses of an object in the corpus.
fn resolve(corpus: &Path, object: &Path, addresses: Vec<u64>, threads: usize) -> Vec<Vec<Frame>> {
    let mut options = Options::default();
    options.threads = NonZeroUsize::new(threads);
    let symbolizer = Symbolizer::new(options, SearchOptions::default().with_symfs(&corpus.join("symfs")));
    let len = addresses.len();
    let key = ObjectKey { path: object.into(), ..ObjectKey::default() };
    let Resolved { symbols, .. } = symbolizer.resolve(&[Request { key, addresses: Addresses::Virtual(addresses) }]);
    let text = |id| String::from_utf8_lossy(symbols.name(id)).into_owned();
    let frame = |frame: &perfconv::symbol::ResolvedFrame| {
        let name = frame.function.and_then(|id| symbols.function(id)).map(|function| text(function.name));
        let file = text(frame.file);
        (name.unwrap_or_default(), file.strip_prefix("./").unwrap_or(&file).to_owned(), frame.line)
    };
    (0..len).map(|place| symbols.frames(0, place).iter().map(frame).collect()).collect()
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
    let found = compare(&Names { aliases: HashMap::new() }, &ours, &llvm, &addr2line);
    println!("{}{}", heading(), found.row("ferry-s"));
    found.differences.iter().take(shown_differences()).for_each(|difference| println!("{difference}"));
    assert!(found.either.percent() >= 99.0 && found.places.percent() >= 99.0 && found.inlined.percent() >= 99.0);
}

#[test]
fn cpp_names_are_demangled_as_by_cxxfilt() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let library = corpus.join("symfs").join("usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30");
    let others = ["/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"];
    let mut names = Vec::new();
    for path in std::iter::once(library).chain(others.map(PathBuf::from)) {
        let Ok(Some(object)) = Object::open(&path) else { continue };
        let table = SymbolTable::new(&object, None);
        let mangled = table.names().filter(|name| name.starts_with(b"_Z") && !name.contains(&b'@'));
        names.extend(mangled.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    let input = tempfile::NamedTempFile::new().unwrap();
    fs::write(input.path(), names.join("\n")).unwrap();
    let input = fs::File::open(input.path()).unwrap();
    let Ok(output) = Command::new("c++filt").arg("--no-verbose").stdin(input).output() else {
        println!("skipped: there is no c++filt");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut share = Share::default();
    for (name, expected) in names.iter().zip(text.lines()) {
        let own = Demangle::Full.demangle(name.as_bytes()).unwrap_or_else(|| name.clone());
        share.add(own == expected);
        if own != expected && share.all - share.equal <= shown_differences() as u64 {
            println!("{name}\n  {own}\n  {expected}");
        }
    }
    println!("{} % of {} names", share.shown(), share.all);
    assert!(share.all > 5000 && share.percent() >= 98.0);
}

#[test]
fn corrupt_objects_cost_their_own_names() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let names = ["foundry-pie", "foundry-gzstd", "foundry-mini", "foundry-dw4", "mill-gz", "plt-lazy", "ferry-s"];
    let (mut tried, mut known) = (0, 0);
    for name in names {
        let whole = fs::read(corpus.join("symfs/srv/sym/bin").join(name)).unwrap();
        let list = addresses(&corpus.join("addr").join(format!("{name}.addrs.zst")));
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
            let requests = [Request { key, addresses: Addresses::Virtual(list.iter().copied().step_by(9).collect()) }];
            known += symbolizer.resolve(&requests).objects[0].with_function;
            tried += 1;
        }
    }
    println!("{tried} corrupt objects, {known} addresses with a function");
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
        let requests = [Request { key: key(object.build_id()), addresses: Addresses::Offsets(addresses) }];
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
    let requests = [Request { key: key(None), addresses: Addresses::Offsets(vec![8]) }];
    let resolved = Symbolizer::new(Options::default(), search).resolve(&requests);
    assert_eq!(resolved.objects[0].with_function, 0);
}

/// The text of perf script, without inlined functions, of a recording or an archive.
fn script(input: &Path, arguments: &[&std::ffi::OsStr], home: &Path) -> String {
    let output = tempfile::NamedTempFile::new().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_perfconv"))
        .arg(input)
        .args(["-q", "-f", "-t", "perf-script", "--no-inline"])
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

    // The same objects, unpacked to a directory that is named and to the cache of the user.
    let unpacked = at("unpacked");
    perfconv(&[archive.as_ref(), "--unpack".as_ref(), "-o".as_ref(), unpacked.as_ref()]);
    let named = script(&recording, &["--buildid-dir".as_ref(), unpacked.as_ref()], &home);
    assert_eq!(named_frames(&named), expected);
    let alone = tempfile::tempdir().unwrap();
    fs::rename(&unpacked, alone.path().join(".debug")).unwrap();
    assert_eq!(named_frames(&script(&recording, &[], alone.path())), expected);
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

/// A server of files by path, for a test. It runs until the test ends.
#[cfg(feature = "debuginfod")]
fn serve(files: HashMap<String, PathBuf>) -> String {
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
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
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

#[test]
#[cfg(feature = "debuginfod")]
fn missing_objects_are_downloaded_from_debuginfod_servers() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let (recording, program) = (corpus.join("rec/d-fp-c.data"), corpus.join("symfs/srv/sym/bin/mill-fp"));
    let id = Object::open(&program).unwrap().unwrap().build_id().unwrap();
    for kind in ["debuginfo", "executable"] {
        let cache = tempfile::tempdir().unwrap();
        let url = serve([(format!("/buildid/{id}/{kind}"), program.clone())].into());
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
        let again = script(&recording, &["--symbols".as_ref(), "auto".as_ref()], cache.path());
        assert_eq!(frames_of(&again, "mill-fp"), 0, "the cache is another one");
        let (again, messages) = downloaded(&recording, "http://127.0.0.1:1", cache.path());
        assert_eq!(again, text, "{messages}");
    }
}

#[test]
#[cfg(feature = "debuginfod")]
fn a_debuginfod_server_that_hangs_costs_its_names() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    let (recording, cache) = (corpus.join("rec/d-fp-c.data"), tempfile::tempdir().unwrap());
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
    let Some(corpus) = corpus() else {
        println!("skipped: there is no ../shared/symbols");
        return;
    };
    // Another program may take the port before the server does.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let directory = tempfile::tempdir().unwrap();
    let server = Command::new("debuginfod")
        .args(["-F", "-p", &port, "-d", ":memory:"])
        .arg(corpus.join("symfs/srv/sym/bin"))
        .env("HOME", directory.path())
        .env_remove("DEBUGINFOD_URLS")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let Ok(mut server) = server else {
        println!("skipped: there is no debuginfod");
        return;
    };
    let url = format!("http://127.0.0.1:{port}");
    let mut found = 0;
    // The server answers while it still reads the files.
    for round in 0..60 {
        std::thread::sleep(std::time::Duration::from_millis(500));
        let cache = directory.path().join(format!("cache-{round}"));
        let (text, _) = downloaded(&corpus.join("rec/d-fp-c.data"), &url, &cache);
        found = frames_of(&text, "mill-fp");
        if found > 0 {
            break;
        }
    }
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(found > 4000, "{found} frames");
}
