//! Parses a frame: `7fa6cd25869e handle_amd+0x7e (/lib/ld.so)`, with any of these fields missing.

/// A parsed frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedFrame<'a> {
    /// Address, or offset for code mapped from a file.
    pub address: u64,
    /// Function name.
    pub function: Option<&'a str>,
    /// Offset in the function.
    pub offset: Option<u64>,
    /// DSO.
    pub dso: Option<&'a str>,
    /// Whether it is inlined into the next frame.
    pub is_inlined: bool,
}

/// What perf prints for unknown names.
const UNKNOWN: &str = "[unknown]";

impl<'a> ParsedFrame<'a> {
    /// Parses a frame.
    ///
    /// # Errors
    /// The missing or invalid field.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.trim();
        let (ip, rest) = text.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((text, ""));
        let address = u64::from_str_radix(ip, 16).map_err(|_| format!("ip: '{ip}' is not an address"))?;
        let rest = rest.trim();
        let (symbol, dso) = match in_parentheses(rest) {
            Some(at) => (rest[..at].trim(), Some(&rest[at + 1..rest.len() - 1])),
            None => (rest, None),
        };
        let with_offset = symbol.rsplit_once('+').and_then(|(name, offset)| {
            let offset = u64::from_str_radix(offset.strip_prefix("0x")?, 16).ok()?;
            (!name.is_empty()).then_some((name, offset))
        });
        let (function, offset) = with_offset.map_or((symbol, None), |(name, offset)| (name, Some(offset)));
        let is_inlined = dso == Some("inlined");
        Ok(Self {
            address,
            function: Some(function).filter(|name| !name.is_empty() && *name != UNKNOWN),
            offset,
            dso: dso.filter(|name| !is_inlined && !name.is_empty() && *name != UNKNOWN),
            is_inlined,
        })
    }
}

/// Start of the parenthesized text at the end. Names may contain parentheses.
fn in_parentheses(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            let is_apart = at == 0 || text.as_bytes()[at - 1].is_ascii_whitespace();
            return (byte == b'(' && is_apart).then_some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_frames_by_the_form_of_fields() {
        let frame = ParsedFrame {
            address: 0x1469e,
            function: Some("handle_amd"),
            offset: Some(0x7e),
            dso: Some("/lib/ld.so"),
            is_inlined: false,
        };
        assert_eq!(ParsedFrame::parse("\t           1469e handle_amd+0x7e (/lib/ld.so)"), Ok(frame));
        let parsed =
            ParsedFrame::parse("10 std::f(int, (anonymous namespace)::T)+0x1 (/tmp/my app (deleted))").unwrap();
        let expected = (Some("std::f(int, (anonymous namespace)::T)"), Some(1), Some("/tmp/my app (deleted)"));
        assert_eq!((parsed.function, parsed.offset, parsed.dso), expected);
        let unknown = ParsedFrame { address: 0x10, ..ParsedFrame::default() };
        assert_eq!(ParsedFrame::parse("10 [unknown] ([unknown])"), Ok(unknown));
        assert_eq!(ParsedFrame::parse("10"), Ok(unknown));
        assert_eq!(ParsedFrame::parse("10 main"), Ok(ParsedFrame { function: Some("main"), ..unknown }));
        assert!(ParsedFrame::parse("10 foo (inlined)").unwrap().is_inlined);
        assert_eq!(ParsedFrame::parse("main+0x1").unwrap_err(), "ip: 'main+0x1' is not an address");
    }
}
