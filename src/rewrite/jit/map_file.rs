//! What a `perf-PID.map` tells: functions, a line each, `START SIZE NAME` with numbers in hexadecimal digits.

use bytes::Bytes;
use std::collections::BTreeMap;

/// Functions that do not overlap, by their first address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapFile {
    /// End and name of each.
    pub functions: BTreeMap<u64, (u64, Bytes)>,
    /// Lines that tell no function.
    pub unreadable: u64,
}

impl MapFile {
    /// Reads a file. Where functions overlap, what was told later has taken the place of the other.
    pub fn read(bytes: &Bytes) -> Self {
        let mut file = Self::default();
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match function(line) {
                Some((start, end, name)) => file.add(start, end, bytes.slice_ref(name)),
                None => file.unreadable += 1,
            }
        }
        file
    }

    fn add(&mut self, start: u64, end: u64, name: Bytes) {
        if start == end {
            return;
        }
        while let Some((&at, &(last, _))) =
            self.functions.range(..end).next_back().filter(|(_, (last, _))| *last > start)
        {
            let Some((_, other)) = self.functions.remove(&at) else { return };
            if at < start {
                self.functions.insert(at, (start, other.clone()));
            }
            if last > end {
                self.functions.insert(end, (last, other));
            }
        }
        self.functions.insert(start, (end, name));
    }
}

/// The function that a line tells: its first address, its end, its name.
fn function(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let word = std::str::from_utf8(words.next()?).ok()?;
        u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = words.next().filter(|name| !name.is_empty() && !name.contains(&0))?;
    Some((start, start.checked_add(size)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Vec<(u64, u64, String)> {
        let file = MapFile::read(&Bytes::from_static(text.as_bytes()));
        let shown =
            |(start, (end, name)): (u64, (u64, Bytes))| (start, end, String::from_utf8_lossy(&name).into_owned());
        file.functions.into_iter().map(shown).collect()
    }

    #[test]
    fn what_is_told_later_takes_the_place() {
        let of = |start, end, name: &str| (start, end, name.to_owned());
        assert_eq!(read("10 10 a\n0x30 8 Lazy:b c\r\n"), [of(0x10, 0x20, "a"), of(0x30, 0x38, "Lazy:b c")]);
        assert_eq!(read("10 10 a\n10 10 b\n"), [of(0x10, 0x20, "b")]);
        assert_eq!(read("10 30 a\n20 10 b\n"), [of(0x10, 0x20, "a"), of(0x20, 0x30, "b"), of(0x30, 0x40, "a")]);
        assert_eq!(
            read("10 10 a\n20 10 b\n18 10 c\n"),
            [of(0x10, 0x18, "a"), of(0x18, 0x28, "c"), of(0x28, 0x30, "b")]
        );
    }

    #[test]
    fn lines_that_tell_nothing_are_counted() {
        let file =
            MapFile::read(&Bytes::from_static(b"10 10 a\nx\n10\n10 10\n10 10 \nffffffffffffffff 2 far\n\n20 0 none\n"));
        assert_eq!((file.functions.len(), file.unreadable), (1, 5));
    }
}
