//! What llvm-symbolizer and addr2line say of addresses, and how the library's answers compare.

use object::{Object, ObjectSymbol};
use perf_symbols::symbol::demangle::Demangle;
use perf_symbols::symbol::find::SearchOptions;
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Resolved, ResolvedFrame, Symbolizer};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// A frame: name of the function, path, line.
pub(super) type Frame = (String, String, u32);

/// What a symbolizer says of each address: lines of its functions and places, behind a line with the address.
pub(super) fn answers(text: &str) -> Option<Vec<Vec<Frame>>> {
    let (mut answers_by_address, mut name): (Vec<Vec<Frame>>, Option<&str>) = (Vec::new(), None);
    for line in text.lines().filter(|line| !line.is_empty()) {
        let digits = line.strip_prefix("0x").unwrap_or_default();
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            answers_by_address.push(Vec::new());
        } else if let Some(function) = name.take() {
            let (file, number) = place(line);
            let function = if function.contains('$') { unescaped(function) } else { function.to_owned() };
            answers_by_address.last_mut()?.push((function, file, number));
        } else {
            name = Some(line);
        }
    }
    Some(answers_by_address)
}

/// `FILE:LINE`, maybe with a column or a discriminator.
pub(super) fn place(text: &str) -> (String, u32) {
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
pub(super) fn loose(name: &str) -> String {
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
    name = name.replace("operator<< <", "operator<<<").replace("operator< <", "operator<<");
    name = name.replace("operator()", "operator{}");
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
pub(super) struct Share {
    pub equal: u64,
    pub all: u64,
}

impl Share {
    pub(super) fn add(&mut self, is_equal: bool) {
        self.equal += u64::from(is_equal);
        self.all += 1;
    }

    pub(super) fn percent(self) -> f64 {
        if self.all == 0 { 100.0 } else { 100.0 * self.equal as f64 / self.all as f64 }
    }

    pub(super) fn shown(self) -> String {
        if self.all == 0 { "-".to_owned() } else { format!("{:.2}", self.percent()) }
    }
}

/// How an object compares with the symbolizers.
#[derive(Default)]
pub(super) struct Comparison {
    pub addresses: u64,
    /// Names that llvm-symbolizer knows, that addr2line knows, and those that are equal to one of them.
    pub llvm: Share,
    pub addr2line: Share,
    pub either: Share,
    /// Places on which both agree.
    pub places: Share,
    /// Lists of inlined functions that are equal to one of them.
    pub inlined: Share,
    pub differences: Vec<String>,
}

impl Comparison {
    pub(super) fn row(&self, name: &str) -> String {
        let [a, b, c, d, e] = [self.llvm, self.addr2line, self.either, self.places, self.inlined].map(Share::shown);
        format!("{name:22} {:>9} {a:>7} {b:>9} {c:>7} {d:>7} {e:>7}\n", self.addresses)
    }
}

pub(super) fn heading() -> String {
    format!(
        "{:22} {:>9} {:>7} {:>9} {:>7} {:>7} {:>7}\n",
        "object", "addresses", "llvm", "addr2line", "either", "file:ln", "inlined"
    )
}

/// How many differences are shown of each object.
pub(super) fn shown_differences() -> usize {
    std::env::var("PERFCONV_SHOW_DIFFERENCES").ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Names of functions, of which some are aliases.
#[derive(Default)]
pub(super) struct Names {
    aliases: HashMap<String, String>,
}

impl Names {
    /// Names of one address in the symbol table of an object.
    pub(super) fn of_object(object: &Path) -> Self {
        let bytes = fs::read(object).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let mut by_address = BTreeMap::<u64, Vec<String>>::new();
        for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
            let name = symbol.name_bytes().unwrap_or_default();
            let name = Demangle::Full.demangle(name).unwrap_or_else(|| String::from_utf8_lossy(name).into_owned());
            // A part of a function has its name, but another address.
            if !name.contains(".cold") && !name.contains(".part") {
                by_address.entry(symbol.address()).or_default().push(loose(&name));
            }
        }
        let mut aliases = HashMap::<String, String>::new();
        for names in by_address.into_values() {
            let first = names.iter().find_map(|name| aliases.get(name)).or(names.iter().min());
            let first = first.cloned().unwrap_or_default();
            aliases.extend(names.into_iter().map(|name| (name, first.clone())));
        }
        Self { aliases }
    }

    pub(super) fn read(corpus: &Path) -> Self {
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

    fn canonical(&self, name: &str) -> String {
        let name = loose(name);
        self.aliases.get(&name).cloned().unwrap_or(name)
    }
}

/// Whether a symbolizer names a frame. llvm-symbolizer leaves what it cannot demangle.
pub(super) fn is_known(frame: &Frame) -> bool {
    frame.0 != "??" && !frame.0.starts_with("_Z")
}

/// The names of each frame of an address that one of the symbolizers gives it; none where neither knows it.
fn accepted(names: &Names, llvm: &[Frame], addr2line: &[Frame]) -> Vec<Vec<String>> {
    // addr2line reads no split DWARF, llvm-symbolizer no names that dwz moved.
    let depth = if llvm.iter().any(|frame| frame.0 != "??") { llvm.len() } else { addr2line.len() };
    let outermost = addr2line.last().map(|frame| &frame.0);
    let names_at = |depth_of_frame: usize| {
        let is_outermost = depth_of_frame + 1 == depth;
        let llvm = llvm.get(depth_of_frame).filter(|frame| is_known(frame));
        // addr2line gives an inlined function without a linkage name that of the symbol.
        let addr2line = addr2line.get(depth_of_frame).filter(|frame| is_known(frame));
        let addr2line = addr2line.filter(|frame| llvm.is_some() || is_outermost || Some(&frame.0) != outermost);
        llvm.into_iter().chain(addr2line).map(|frame| names.canonical(&frame.0)).collect()
    };
    (0..depth).map(names_at).collect()
}

/// Whether a name is that of another symbolizer, which shows names without linkage names without their scopes.
fn is_same(own: &str, other: &str) -> bool {
    own.strip_suffix(other).is_some_and(|scope| scope.is_empty() || scope.ends_with("::"))
}

pub(super) fn compare(names: &Names, ours: &[Vec<Frame>], llvm: &[Vec<Frame>], addr2line: &[Vec<Frame>]) -> Comparison {
    let mut result = Comparison { addresses: ours.len() as u64, ..Comparison::default() };
    let knows_any = llvm.iter().flatten().any(is_known);
    let all = ours.iter().zip(llvm.iter().zip(addr2line)).enumerate();
    for (number, (frames, (llvm, addr2line))) in all {
        // addr2line takes an address behind the end of a symbol for one in it.
        if knows_any && !llvm.iter().any(is_known) {
            continue;
        }
        let own = |depth: usize| frames.get(depth).map(|own| names.canonical(&own.0));
        for (golden, share) in [(llvm, &mut result.llvm), (addr2line, &mut result.addr2line)] {
            let named = golden.iter().enumerate().filter(|(_, frame)| is_known(frame));
            named.for_each(|(depth, frame)| {
                share.add(own(depth).is_some_and(|own| is_same(&own, &names.canonical(&frame.0))))
            });
        }
        let accepted = accepted(names, llvm, addr2line);
        for (depth, names) in accepted.iter().enumerate().filter(|(_, names)| !names.is_empty()) {
            let is_equal = own(depth).is_some_and(|own| names.iter().any(|name| is_same(&own, name)));
            result.either.add(is_equal);
            if !is_equal {
                result.differences.push(format!("#{number}.{depth} name {names:?} | {:?}", own(depth)));
            }
        }
        for (depth, (a, b)) in llvm.iter().zip(addr2line).enumerate() {
            if llvm.len() == addr2line.len() && (&a.1, a.2) == (&b.1, b.2) && a.2 != 0 {
                let own = frames.get(depth).map(|own| (&own.1, own.2));
                let is_equal = own == Some((&a.1, a.2));
                result.places.add(is_equal);
                if !is_equal {
                    result.differences.push(format!("#{number}.{depth} line {}:{} | {own:?}", a.1, a.2));
                }
            }
        }
        if llvm.iter().chain(addr2line).any(is_known) {
            let is_equal = accepted.len() == frames.len();
            let is_accepted = |place: usize| {
                let is_accepted = |own: String| accepted[place].iter().any(|name| is_same(&own, name));
                accepted[place].is_empty() || own(place).is_some_and(is_accepted)
            };
            result.inlined.add(is_equal && (0..frames.len() - 1).all(is_accepted));
            if !is_equal {
                result.differences.push(format!("#{number} inlined {accepted:?} | {frames:?}"));
            }
        }
    }
    result
}

/// The frames of addresses of an object.
pub(super) fn resolve(search: SearchOptions, object: &Path, addresses: Vec<u64>, threads: usize) -> Vec<Vec<Frame>> {
    resolve_key(search, ObjectKey { path: object.into(), ..ObjectKey::default() }, addresses, threads)
}

/// The frames of addresses of a recorded object.
pub(super) fn resolve_key(
    search: SearchOptions,
    key: ObjectKey,
    addresses: Vec<u64>,
    threads: usize,
) -> Vec<Vec<Frame>> {
    let mut options = Options::default();
    options.threads = NonZeroUsize::new(threads);
    let symbolizer = Symbolizer::new(options, search);
    let len = addresses.len();
    let Resolved { symbols, .. } = symbolizer.resolve(&[Request::new(key, Addresses::Virtual(addresses))]);
    let text = |id| String::from_utf8_lossy(symbols.name(id)).into_owned();
    let frame = |frame: &ResolvedFrame| {
        let name = frame.function.and_then(|id| symbols.function(id)).map(|function| text(function.name));
        let file = text(frame.file);
        (name.unwrap_or_default(), file.strip_prefix("./").unwrap_or(&file).to_owned(), frame.line)
    };
    (0..len).map(|place| symbols.frames(0, place).iter().map(frame).collect()).collect()
}
