//! Short names of Java: class and method.

use super::short_name::ShortName;

/// How a Java virtual machine or its profiler marks how a method is run.
const MARKERS: [&str; 5] = ["_[j]", "_[i]", "_[0]", "_[1]", "_[k]"];

/// A name without the markers of how the method was compiled.
pub(super) fn without_marker(name: &str) -> &str {
    MARKERS.iter().find_map(|marker| name.strip_suffix(marker)).unwrap_or(name)
}

/// Whether generated code has the name of a Java method: `int java.util.HashMap.size()`, as the virtual machine writes it, or
/// `Ljava/util/HashMap;::size`, as perf-map-agent does.
pub(super) fn is_method(name: &str) -> bool {
    let name = without_marker(name);
    let is_declaration = name.strip_suffix(')').and_then(|name| name.split_once('(')).is_some_and(|(method, _)| {
        let path = method.rsplit(' ').next().unwrap_or(method);
        path.contains('.') && !path.ends_with('.') && path.chars().all(|char| is_identifier(char) || char == '/')
    });
    is_declaration || name.starts_with('L') && name.contains(";::")
}

/// The short form of a method: `HashMap.get` of `java.util.HashMap.get(Object)`.
pub(super) fn shorten(name: &str) -> ShortName {
    let name = without_marker(name);
    let mut short = ShortName::default();
    let (class, method, parameters) = match name.strip_prefix('L').and_then(|name| name.split_once(";::")) {
        Some((class, method)) => (class, method, ""),
        None => {
            let (method, parameters) = name.split_at(name.find('(').unwrap_or(name.len()));
            // What precedes is a type that is returned.
            let path = method.rsplit(' ').next().unwrap_or(method);
            match path.rsplit_once('.') {
                Some((class, method)) => (class, method, parameters),
                None => ("", path, parameters),
            }
        }
    };
    // Hidden classes of lambdas have a number that differs in each run.
    let (class, _) = class.rsplit_once('/').filter(|(_, number)| is_number(number)).unwrap_or((class, ""));
    let package = class.rfind(['.', '/']).map_or(0, |dot| dot + 1);
    if package > 0 {
        short.omit(&class[..package]);
    }
    if !class.is_empty() {
        short.push(&class[package..]);
        short.push(".");
    }
    short.push(method);
    if !parameters.is_empty() {
        short.omit(parameters);
    }
    short
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_identifier(char: char) -> bool {
    char.is_alphanumeric() || "._$<>".contains(char)
}
