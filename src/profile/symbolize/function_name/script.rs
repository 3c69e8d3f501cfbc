//! Short names of functions that V8, Python and .NET compile, as their maps and dumps have them.

use super::short_name::ShortName;

/// How V8 marks the tier of a function, after the kind of its code.
const V8_KINDS: [&str; 7] =
    ["JS:", "LazyCompile:", "Function:", "InterpretedFunction:", "Eval:", "Script:", "Callback:"];
const V8_TIERS: [char; 4] = ['*', '~', '^', '+'];

/// Tiers of .NET, and `Instrumented` before or after one.
const NET_TIERS: [&str; 10] = [
    "PreJIT",
    "ReadyToRun",
    "Tier0",
    "Tier1",
    "OptimizedTier1",
    "OptimizedTier1OSR",
    "Optimized",
    "MinOptJitted",
    "QuickJitted",
    "Unknown",
];

/// What the names of files begin with, after a space.
const V8_FILES: [&str; 3] = [" /", " file:", " node:"];

/// A function of V8 with its position, without the kind and tier of its code, which some versions omit.
pub(super) fn v8_function(name: &str) -> Option<&str> {
    let function = match V8_KINDS.iter().find_map(|kind| name.strip_prefix(kind)) {
        Some(function) => function.strip_prefix(V8_TIERS).unwrap_or(function),
        None => Some(name).filter(|name| V8_FILES.iter().any(|start| name.contains(start)))?,
    };
    V8Function::new(function).map(|_| function)
}

/// A function with its position: `f /srv/app.js:1:2`.
struct V8Function<'a> {
    name: &'a str,
    file: &'a str,
    line: &'a str,
}

impl<'a> V8Function<'a> {
    fn new(function: &'a str) -> Option<Self> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (position, column) = function.rsplit_once(':')?;
        let (position, line) = position.rsplit_once(':')?;
        // Paths and names of functions, such as `get size`, may contain spaces.
        let space = V8_FILES.iter().find_map(|start| position.find(start));
        let (name, file) = position.split_at(space.or_else(|| position.rfind(' '))?);
        let file = &file[1..];
        (is_number(column) && is_number(line) && !file.is_empty()).then_some(Self { name, file, line })
    }
}

/// The short form of a function of V8 without kind and tier.
pub(super) fn shorten_v8(function: &str) -> ShortName {
    let Some(V8Function { name, file, line }) = V8Function::new(function) else {
        return ShortName::unchanged(function);
    };
    let name = if name.is_empty() { "(anonymous)" } else { name };
    with_source(name, file, line.parse().unwrap_or(0))
}

/// The function and the file of a name of Python, `py::load:/srv/app/main.py`.
fn python_function(name: &str) -> Option<(&str, &str)> {
    let (function, file) = name.strip_prefix("py::")?.split_once(':')?;
    (!function.is_empty() && !file.is_empty()).then_some((function, file))
}

/// The short form of a name of Python.
pub(super) fn shorten_python(name: &str) -> Option<ShortName> {
    python_function(name).map(|(function, file)| with_source(function, file, 0))
}

fn with_source(function: &str, file: &str, line: i64) -> ShortName {
    let mut short = ShortName::unchanged(function);
    let last = file.rsplit('/').next().unwrap_or(file);
    let position = if line > 0 { format!("{last}:{line}") } else { last.to_owned() };
    short.omit(&format!(" ({position})"));
    short.source = Some((file.to_owned(), line));
    short
}

/// A method of .NET without its tier, `void [App] Program::Main()[Tier0]`.
pub(super) fn net_method(name: &str) -> Option<&str> {
    let (method, tier) = name.strip_suffix(']')?.rsplit_once('[')?;
    let tier = tier.strip_prefix("Instrumented").or_else(|| tier.strip_suffix("Instrumented")).unwrap_or(tier);
    (NET_TIERS.contains(&tier.trim()) && method.ends_with(')')).then_some(method)
}

/// The short form of a method of .NET without its tier: `List`1[...]::Add` of `instance void [System.Private.CoreLib]
/// System.Collections.Generic.List`1[System.__Canon]::Add(!0)`.
pub(super) fn shorten_net(method: &str) -> ShortName {
    let mut short = ShortName::default();
    let (path, parameters) = method.split_at(method.find('(').unwrap_or(method.len()));
    // Before it are the returned type and the assembly. Type arguments are names of types in brackets, without spaces.
    let path = path.rsplit(' ').next().unwrap_or(path);
    let (class, function) = path.rsplit_once("::").map_or(("", path), |(class, function)| (class, function));
    let (class, arguments) = class.split_at(class.find('[').unwrap_or(class.len()));
    let namespace = class.rfind('.').map_or(0, |dot| dot + 1);
    if namespace > 0 {
        short.omit(&class[..namespace]);
    }
    short.push(&class[namespace..]);
    if !arguments.is_empty() {
        let parts = arguments.trim_matches(['[', ']']).split(',').map(str::to_owned);
        short.replace("[...]", parts.collect());
    }
    if !class.is_empty() {
        short.push("::");
    }
    short.push(function);
    if !parameters.is_empty() {
        short.omit(parameters);
    }
    short
}
