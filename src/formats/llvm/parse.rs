//! Reads the text form, to add up profiles.

use crate::branches::source_profile::{FunctionCounts, IS_TO_BE_INLINED, PositionCount, SourcePosition, SourceProfile};
use perf_data::error::{Error, Result};
use std::io::{BufRead, Read};

/// Maximum length of a line: names of C++ have a few thousand bytes, and a line may have many targets.
const LINE: u64 = 1 << 20;

/// Maximum number of inlined functions in each other.
const DEPTH: usize = 512;

/// Adds the functions of a profile to another. Lines that cannot be read are skipped; `on_skipped` gets their numbers. Returns the number
/// of functions that are skipped because their control flow differs, by its checksum.
///
/// # Errors
/// If the input cannot be read, or no line is of such a profile.
pub(crate) fn add_text(
    profile: &mut SourceProfile,
    name: &str,
    input: &mut dyn BufRead,
    on_skipped: &mut dyn FnMut(u64),
) -> Result<u64> {
    let mut reader = TextReader { profile, open: Vec::new(), functions: 0, different: 0 };
    let (mut line, mut number, mut is_empty) = (Vec::new(), 0, true);
    loop {
        line.clear();
        if input.take(LINE).read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        number += 1;
        let text = line.trim_ascii_end();
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        is_empty = false;
        if reader.line(text).is_none() {
            on_skipped(number);
        }
    }
    reader.close(0);
    if reader.functions == 0 && !is_empty {
        let problem =
            "no line is of a text profile; write one with --llvm-format text, or add up binary ones with llvm-profdata";
        return Err(Error::input(name, None, problem));
    }
    Ok(reader.different)
}

/// A function that is being read: its name, and its position in the one before.
struct OpenFunction {
    name: u32,
    call: SourcePosition,
    counts: FunctionCounts,
}

struct TextReader<'p> {
    profile: &'p mut SourceProfile,
    /// The function of the current line, after those that it is inlined into.
    open: Vec<OpenFunction>,
    functions: u64,
    different: u64,
}

impl TextReader<'_> {
    fn line(&mut self, text: &[u8]) -> Option<()> {
        let indent = text.iter().take_while(|&&byte| byte == b' ').count();
        let text = &text[indent..];
        if indent == 0 {
            self.close(0);
            let (rest, head) = split_number(text)?;
            let (name, total) = split_number(rest)?;
            self.begin(name, SourcePosition::default(), FunctionCounts { total, head, ..FunctionCounts::default() });
            return Some(());
        }
        if indent > self.open.len() {
            return None;
        }
        self.close(indent);
        if let Some(metadata) = text.strip_prefix(b"!") {
            let (key, value) = str::from_utf8(metadata).ok()?.split_once(": ")?;
            let counts = &mut self.open.last_mut()?.counts;
            match key {
                "CFGChecksum" => counts.checksum = Some(value.parse().ok()?),
                "Attributes" => {
                    counts.attributes = value.parse().ok()?;
                    self.profile.is_preinlined |= counts.attributes & IS_TO_BE_INLINED != 0;
                }
                _ => return None,
            }
            return Some(());
        }
        let at = memchr::memmem::find(text, b": ")?;
        let (position, rest) = (position(&text[..at])?, &text[at + 2..]);
        let mut words = rest.split(|&byte| byte == b' ');
        match words.next().and_then(number) {
            Some(count) => {
                let mut targets = Vec::new();
                for word in words {
                    let (name, calls) = split_number(word)?;
                    targets.push((self.profile.number(name), calls));
                }
                let sum = self.open.last_mut()?.counts.body.entry(position).or_default();
                sum.add(PositionCount { count, targets: targets.into_iter().collect() });
            }
            None => {
                let (name, total) = split_number(rest)?;
                if self.open.len() == DEPTH {
                    return None;
                }
                self.begin(name, position, FunctionCounts { total, ..FunctionCounts::default() });
            }
        }
        Some(())
    }

    fn begin(&mut self, name: &[u8], call: SourcePosition, counts: FunctionCounts) {
        let name = self.profile.number(name);
        self.open.push(OpenFunction { name, call, counts });
        self.functions += 1;
    }

    /// Ends functions until so many are open.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(OpenFunction { name, call, counts }) = self.open.pop() else { return };
            let functions = match self.open.last_mut() {
                Some(caller) => caller.counts.inlined.entry(call).or_default(),
                None => &mut self.profile.functions,
            };
            let sum = functions.entry(name).or_default();
            let is_different = sum.checksum.zip(counts.checksum).is_some_and(|(sum, other)| sum != other);
            if is_different {
                self.different += 1;
            } else {
                sum.add(counts);
            }
        }
    }
}

/// Splits a number off, which follows the last colon.
fn split_number(text: &[u8]) -> Option<(&[u8], u64)> {
    let at = memchr::memrchr(b':', text).filter(|&at| at > 0)?;
    Some((&text[..at], number(&text[at + 1..])?))
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// `LINE`, or `LINE.DISCRIMINATOR`.
fn position(text: &[u8]) -> Option<SourcePosition> {
    let mut numbers = text.split(|&byte| byte == b'.').map(|text| u32::try_from(number(text)?).ok());
    let line = numbers.next()??;
    let discriminator = numbers.next().unwrap_or(Some(0))?;
    numbers.next().is_none().then_some(SourcePosition { line, discriminator })
}
