//! Brackets in names, of which some characters may also be parts of operators.

/// Brackets that are open, of which `>` closes only `<`: in parentheses it is an operator.
#[derive(Default)]
pub(super) struct Brackets {
    /// One bit each, the innermost one the lowest: 1 for `<`. Those around the innermost 128 are taken for others.
    are_angles: u128,
    pub(super) depth: usize,
}

impl Brackets {
    pub(super) fn open(&mut self, bracket: u8) {
        self.are_angles = self.are_angles << 1 | u128::from(bracket == b'<');
        self.depth += 1;
    }

    pub(super) fn close(&mut self, bracket: u8) {
        if bracket == b'>' && self.are_angles & 1 == 0 {
            return;
        }
        // A `<` in parentheses that are closed is an operator.
        while bracket != b'>' && self.depth > 1 && self.are_angles & 1 == 1 {
            self.pop();
        }
        self.pop();
    }

    fn pop(&mut self) {
        self.are_angles >>= 1;
        self.depth = self.depth.saturating_sub(1);
    }
}

/// The end of the brackets that open here, and what commas separate in them. `operator_len` is the length of an operator at a place,
/// whose characters are no brackets; 0 if there is none.
pub(super) fn bracketed(name: &str, open: usize, operator_len: impl Fn(usize) -> usize) -> (usize, Vec<&str>) {
    let bytes = name.as_bytes();
    let (mut brackets, mut arguments) = (Brackets::default(), Vec::new());
    let (mut at, mut start) = (open, open + 1);
    while let Some(&byte) = bytes.get(at) {
        let operator = if byte == b'o' { operator_len(at) } else { 0 };
        if operator > 0 {
            at += operator;
            continue;
        }
        match byte {
            b'<' | b'{' | b'[' | b'(' => brackets.open(byte),
            b'>' if bytes[..at].ends_with(b"-") => {}
            b'>' | b'}' | b']' | b')' => brackets.close(byte),
            b',' if brackets.depth == 1 => {
                arguments.push(name[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        if brackets.depth == 0 {
            arguments.push(name[start.min(at)..at].trim());
            return (at + 1, arguments);
        }
        at += 1;
    }
    (name.len(), arguments)
}
