//! Symbol names of OCaml: `camlStdlib__List__map_300`.

/// The name as perf shows it: modules are separated by dots, and other characters than letters and digits are decoded. `None` if it
/// is not one of OCaml.
pub(super) fn demangle(name: &str) -> Option<String> {
    let path = name.strip_prefix("caml").filter(|path| path.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let mut rest = path.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    loop {
        let (decoded, len) = match *rest {
            [] => break,
            [b'_', b'_', ..] => (b'.', 2),
            [b'$', high, low, ..] if [high, low].iter().all(u8::is_ascii_hexdigit) => (hex_byte(high, low), 3),
            [byte, ..] => (byte, 1),
        };
        bytes.push(decoded);
        rest = &rest[len..];
    }
    String::from_utf8(bytes).ok()
}

/// The byte that two hexadecimal digits stand for.
fn hex_byte(high: u8, low: u8) -> u8 {
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default() as u8;
    value(high) << 4 | value(low)
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn decodes_modules_and_operators() {
        let expected = [
            ("camlStdlib__List__map_300", Some("Stdlib.List.map_300")),
            ("camlApp__$2b$2b$2b_12", Some("App.+++_12")),
            ("camlStdlib__array__map_154", Some("Stdlib.array.map_154")),
            ("camlStdlib__bytes__$2b$2b_2205", Some("Stdlib.bytes.++_2205")),
            ("camlApp__fn$2", Some("App.fn$2")),
            ("camlApp___x", Some("App._x")),
            ("caml_main", None),
            ("camlinternal", None),
            ("main", None),
        ];
        for (name, shown) in expected {
            assert_eq!(demangle(name).as_deref(), shown, "{name}");
        }
    }
}
