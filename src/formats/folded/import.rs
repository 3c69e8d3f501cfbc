//! Imports folded stacks as a recording.

use crate::formats::framework::recognize::lines;
use crate::formats::import::source::{SourceEvent, SourceFrame, SourceFunction, SourceProfile, SourceSample};
use crate::formats::import::{ImportOptions, ImportedRecording, MAX_PARTS, quoted, record};
use crate::profile::imported::{ProfileHeader, SampleType, SampleTypes};
use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::session::names::{MAX_NAME, truncated};
use std::io::{BufRead, BufReader, Read};

/// Suffix of kernel functions in the output of stackcollapse.
const KERNEL: &[u8] = b"_[k]";

/// Billionths of a count: the digits of decimal counts that are read.
const BILLION: u64 = 1_000_000_000;

/// Converts folded stacks to a recording: one value per line, with the count as its value.
///
/// Decimal counts become integers: what rounding leaves is carried to the next line, so that the total is that of the
/// input, rounded to the nearest integer, and no line differs by 1 or more.
///
/// # Errors
/// If a line is invalid, with its number (blank lines and comments are skipped), every line has two counts, or a
/// recording cannot represent it.
pub fn import(stream: &mut (dyn Read + Send), name: &str, options: &ImportOptions) -> Result<ImportedRecording> {
    let samples = SampleType { kind: "samples".to_owned(), unit: "count".to_owned() };
    let types = SampleTypes { samples: None, value: samples.clone() };
    let header = ProfileHeader { period_type: Some(samples), period: 1, ..ProfileHeader::default() };
    let mut profile = SourceProfile { header: Some(header), ..SourceProfile::default() };
    profile.events.push(SourceEvent {
        name: "samples".to_owned(),
        unit: "count".to_owned(),
        period: 1,
        sample_types: Some(types),
        ..<_>::default()
    });
    let mut frames: HashMap<(u32, bool), u32> = HashMap::new();
    let mut input = BufReader::new(stream);
    let (mut line, mut stack) = (Vec::new(), Vec::new());
    // The carry begins at one half, so that the total is rounded to the nearest integer, not down.
    let (mut carry, mut decimals, mut pairs) = (BILLION / 2, 0_u64, 0);
    for number in 1_u64.. {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))? == 0 {
            break;
        }
        profile.input_size += line.len();
        let text = line.trim_ascii();
        if text.is_empty() || is_comment(text) {
            continue;
        }
        let invalid = |problem: &str| Err(Error::input(name, None, format!("line {number}: {problem}")));
        let Some((names, count)) = split(text) else {
            return invalid("count: missing; expected FRAME;FRAME;... COUNT");
        };
        let Some((whole, fraction)) = parse_count(count) else {
            return invalid(&format!(
                "count: {} is not a number from 0 to 18446744073709551615",
                quoted(&String::from_utf8_lossy(count))
            ));
        };
        let mut value = whole;
        if fraction > 0 {
            decimals += 1;
            carry += fraction;
            value = value.saturating_add(carry / BILLION);
            carry %= BILLION;
        }
        pairs += usize::from(has_two_counts(names));
        if profile.samples.len() == MAX_PARTS {
            return invalid(&format!("more than {MAX_PARTS} stacks"));
        }
        // Symbols of a recording are stored in tables whose names end with a NUL.
        if names.contains(&0) {
            return invalid("frame: the name contains a NUL");
        }
        stack.clear();
        for name in names.split(|&byte| byte == b';') {
            let (name, is_kernel) = name.strip_suffix(KERNEL).map_or((name, false), |name| (name, true));
            let name = profile.names.id(&truncated(name, MAX_NAME));
            stack.push(frames.get(&(name, is_kernel)).copied().unwrap_or_else(|| {
                let function = profile.function(SourceFunction::named(name));
                // Functions beyond the limit share their frames, too.
                let name = profile.functions.list()[function as usize].name;
                *frames.entry((name, is_kernel)).or_insert_with(|| {
                    profile.frames.push(SourceFrame { function: Some(function), is_kernel, ..SourceFrame::default() });
                    profile.frames.len() as u32 - 1
                })
            }));
        }
        stack.reverse();
        let stack = profile.stacks.id(&stack);
        profile.samples.push(SourceSample { stack, value, ..SourceSample::default() });
    }
    if profile.samples.is_empty() {
        return Err(Error::input(name, None, "it has no stacks; expected lines of FRAME;FRAME;... COUNT"));
    }
    // Only differential profiles have a number before every count; single functions may have names that end in one.
    if pairs == profile.samples.len() {
        let problem = "every line has two counts, as in a differential profile; keep one: \
                    sed -E 's/[[:blank:]]+[^[:blank:]]+$//' for the first, \
                    sed -E 's/[^[:blank:]]+[[:blank:]]+([^[:blank:]]+)$/\\1/' for the second";
        return Err(Error::input(name, None, problem));
    }
    if decimals > 0 {
        profile.lost.push(format!("{decimals} decimal counts are rounded; their sum is kept to the nearest integer"));
    }
    record(name, profile, options)
}

/// Whether the text before a count ends with another one.
fn has_two_counts(names: &[u8]) -> bool {
    split(names).is_some_and(|(names, count)| !names.is_empty() && parse_count(count).is_some())
}

/// Splits a line into frames and count.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = line.iter().rposition(u8::is_ascii_whitespace)?;
    Some((line[..space].trim_ascii_end(), &line[space + 1..]))
}

/// Parses `12`, `12.5` or `1.25e+06`: the integer, and the fraction in billionths. Further digits are ignored.
fn parse_count(count: &[u8]) -> Option<(u64, u64)> {
    /// Decimals that are kept until the exponent is applied: all integers of 64 bits with them fit into 128 bits.
    const DECIMALS: usize = 18;
    let count = std::str::from_utf8(count).ok()?;
    let (mantissa, exponent) = match count.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (count, 0),
    };
    let (whole, digits) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.bytes().map(|digit| u128::from(digit - b'0')).chain(std::iter::repeat(0)).take(DECIMALS);
    let mantissa = digits.fold(u128::from(whole.parse::<u64>().ok()?), |sum, digit| sum * 10 + digit);
    let scale = 10_u128.checked_pow(exponent.unsigned_abs());
    let scaled = match scale {
        Some(scale) if exponent >= 0 => mantissa.checked_mul(scale)?,
        Some(scale) => mantissa / scale,
        None if exponent < 0 || mantissa == 0 => 0,
        None => return None,
    };
    let one = 10_u128.pow(DECIMALS as u32);
    let fraction = scaled % one / (one / u128::from(BILLION));
    Some((u64::try_from(scaled / one).ok()?, fraction as u64))
}

/// Whether a line is a comment: `# text`, or a line that starts with `#` and has no count. JavaScript has functions
/// `#name`.
fn is_comment(line: &[u8]) -> bool {
    let has_count = || split(line).is_some_and(|(_, count)| parse_count(count).is_some());
    line.starts_with(b"# ") || (line.starts_with(b"#") && !has_count())
}

/// Whether an input with these first bytes is folded stacks: lines with a count, and at least one with several
/// frames.
pub fn recognizes(start: &[u8]) -> bool {
    let mut has_stack = false;
    let mut lines = lines(start).map(<[u8]>::trim_ascii).filter(|line| !line.is_empty() && !is_comment(line));
    let are_stacks = lines.all(|line| {
        has_stack |= line.contains(&b';');
        split(line).is_some_and(|(names, count)| !names.is_empty() && parse_count(count).is_some())
    });
    are_stacks && has_stack
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn imported(text: &str) -> Result<ImportedRecording> {
        import(&mut Cursor::new(text.as_bytes().to_vec()), "a.folded", &ImportOptions::default())
    }

    #[test]
    fn counts_are_integers_or_decimals() {
        let valid = [("12", (12, 0)), ("1.5", (1, 500_000_000)), ("3.", (3, 0)), ("0.1234567899", (0, 123_456_789))];
        for (text, expected) in valid {
            assert_eq!(parse_count(text.as_bytes()), Some(expected), "{text}");
        }
        let exponents = [
            ("1e3", (1000, 0)),
            ("2.5E+2", (250, 0)),
            ("15e-1", (1, 500_000_000)),
            ("0e99", (0, 0)),
            ("1e-99", (0, 0)),
        ];
        for (text, expected) in exponents {
            assert_eq!(parse_count(text.as_bytes()), Some(expected), "{text}");
        }
        let invalid = ["", ".", ".5", "-1.5", "1.-5", "1.5.2", "e3", "1e", "1e1.5", "x", "1,000", "0x10", "nan"];
        for text in invalid.into_iter().chain(["99999999999999999999.5", "1e20", "1e99", "1e99999999999"]) {
            assert_eq!(parse_count(text.as_bytes()), None, "{text}");
        }
        assert!(recognizes(b"a;b 1.5\na;c 2\n"));
    }

    #[test]
    fn rounding_of_decimal_counts_is_reported() {
        let notes = |text| imported(text).unwrap().missing;
        assert!(notes("a;b 1\na;c 2.0\n").is_empty());
        let expected = "2 decimal counts are rounded; their sum is kept to the nearest integer";
        assert_eq!(notes("a;b 1.5\na;c 2\na;d 0.25\n"), [expected]);
    }

    #[test]
    fn comments_are_skipped() {
        assert!(recognizes(b"# 3 stacks\n\na;b 1\n"));
        let text = "# total 30\n\n#eof\na;b 10\n#secret;c 20\n";
        assert_eq!(imported(text).unwrap().missing, [""; 0]);
        assert!(imported("# before after\na;b 10 12\n\na;c 5 0\n").is_err());
    }

    #[test]
    fn rejects_two_counts_in_every_line() {
        for text in ["a;b 10 12\na;c 5 0\n", "a;b 1.5 12.25\n", "a;b\t10\t1e3\n"] {
            let error = imported(text).unwrap_err().to_string();
            assert!(error.contains("a.folded") && error.contains("every line has two counts"), "{error}");
        }
        // Names may end with a number.
        imported("a;worker 10 12\na;c 5\n").unwrap();
        imported("7 12\n8\u{20}x 3\n").unwrap();
    }
}
