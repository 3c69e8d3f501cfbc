//! Parses the first line of a sample: `comm  pid/tid [cpu] time: period event: `, with any of these fields missing.

use crate::formats::import::quoted;

/// A parsed line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleLine<'a> {
    /// Comm of the thread.
    pub comm: &'a str,
    /// Process, where printed in addition to the thread.
    pub pid: Option<i32>,
    /// Thread.
    pub tid: i32,
    /// CPU.
    pub cpu: Option<i32>,
    /// Time in nanoseconds.
    pub time: Option<u64>,
    /// Period.
    pub period: Option<u64>,
    /// Name of the event.
    pub event: &'a str,
    /// Text after the event: empty, fields of a tracepoint, or the only frame.
    pub rest: &'a str,
}

/// Words and their offsets.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_ascii_whitespace().map(move |word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

impl<'a> SampleLine<'a> {
    /// Parses a line.
    ///
    /// # Errors
    /// The missing or invalid field.
    pub fn parse(line: &'a str) -> Result<Self, String> {
        let words: Vec<_> = words(line).collect();
        let is_cpu = |word: &str| word.starts_with('[') && word.ends_with(']') && cpu(word).is_some();
        // A comm may contain spaces and numbers: the fields after it are recognized by their form.
        let time_at =
            (1..words.len()).find(|&at| time(words[at].1).is_some() && task_before(&words, at, is_cpu).is_some());
        let cpu_at = || (2..words.len()).find(|&at| is_cpu(words[at].1) && task_before(&words, at, is_cpu).is_some());
        let plain = || (1..words.len()).find(|&at| task(&words[at..]).is_some());
        let (task_at, mut at) = if let Some(at) = time_at {
            (task_before(&words, at, is_cpu).unwrap_or(at), at)
        } else if let Some(at) = cpu_at() {
            (task_before(&words, at, is_cpu).unwrap_or(at), at)
        } else {
            let at = plain().ok_or("pid or tid: missing")?;
            (at, at + task(&words[at..]).map_or(1, |(_, _, used)| used))
        };
        let (pid, tid, used) = task(&words[task_at..]).ok_or("pid or tid: missing")?;
        let mut head = SampleLine { comm: line[..words[task_at].0].trim(), pid, tid, ..SampleLine::default() };
        if let Some((_, word)) = words.get(task_at + used).filter(|(_, word)| is_cpu(word)) {
            head.cpu = cpu(word);
            at = at.max(task_at + used + 1);
        }
        if let Some(found) = words.get(at).and_then(|(_, word)| time(word)) {
            head.time = Some(found);
            at += 1;
        }
        if let Some((_, word)) = words.get(at).filter(|(_, word)| is_of_a_time(word)) {
            return Err(format!("time: {} is not a time", quoted(word)));
        }
        let is_event = |place: usize| words.get(place).is_some_and(|(_, word)| word.len() > 1 && word.ends_with(':'));
        if let Some((_, word)) = words.get(at).filter(|_| !is_event(at)) {
            let period = word.parse().ok().filter(|_| is_event(at + 1));
            head.period = Some(period.ok_or_else(|| format!("event: {} is not an event", quoted(word)))?);
            at += 1;
        }
        let Some(&(place, event)) = words.get(at) else { return Err("event: missing".to_owned()) };
        head.event = event.strip_suffix(':').unwrap_or(event);
        head.rest = line[place + event.len()..].trim();
        Ok(head)
    }
}

/// Index of the word with process and thread, before a word and possibly the CPU.
fn task_before(words: &[(usize, &str)], at: usize, is_cpu: impl Fn(&str) -> bool) -> Option<usize> {
    let end = if at > 1 && is_cpu(words[at - 1].1) { at - 1 } else { at };
    // They are one word or, with a space after the slash, two.
    [2, 1]
        .into_iter()
        .filter_map(|used| end.checked_sub(used))
        .find(|&start| start > 0 && task(&words[start..end]).is_some_and(|(.., used)| start + used == end))
}

/// Parses process, if printed, and thread; returns the number of words.
fn task(words: &[(usize, &str)]) -> Option<(Option<i32>, i32, usize)> {
    let (_, first) = words.first()?;
    let number = |text: &str| text.parse::<i32>().ok();
    match first.split_once('/') {
        None => Some((None, number(first)?, 1)),
        Some((pid, "")) => Some((Some(number(pid)?), number(words.get(1)?.1)?, 2)),
        Some((pid, tid)) => Some((Some(number(pid)?), number(tid)?, 1)),
    }
}

/// Parses `[003]`.
fn cpu(word: &str) -> Option<i32> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

/// Whether a word has the form of a time, valid or not.
fn is_of_a_time(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.strip_suffix(':').and_then(|time| time.split_once('.')).is_some_and(|(a, b)| is_number(a) && is_number(b))
}

/// Parses `1806.624218:`, seconds with six or nine decimals.
fn time(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(fraction) || !matches!(fraction.len(), 6 | 9) {
        return None;
    }
    let scale = if fraction.len() == 6 { 1000 } else { 1 };
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction.parse::<u64>().ok()? * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lines_by_the_form_of_fields() {
        let plain = SampleLine {
            comm: "loop",
            tid: 21998,
            time: Some(1_806_624_218_000),
            event: "cpu-clock",
            ..SampleLine::default()
        };
        let parsed = SampleLine::parse("loop 21998  1806.624218:     250000 cpu-clock: ").unwrap();
        assert_eq!(parsed, SampleLine { period: Some(250_000), ..plain });
        let parsed =
            SampleLine::parse("   Web Content 12  34/56 [003]  1.000000005:  9 cycles:u:   401000 main+0x2 (/bin/a)")
                .unwrap();
        let expected = SampleLine {
            comm: "Web Content 12",
            pid: Some(34),
            tid: 56,
            cpu: Some(3),
            time: Some(1_000_000_005),
            period: Some(9),
            event: "cycles:u",
            rest: "401000 main+0x2 (/bin/a)",
        };
        assert_eq!(parsed, expected);
        let parsed = SampleLine::parse("swapper     0/0     [000]     1.500000: sched:sched_switch: a=b c").unwrap();
        assert_eq!(
            (parsed.pid, parsed.period, parsed.event, parsed.rest),
            (Some(0), None, "sched:sched_switch", "a=b c")
        );
        let parsed = SampleLine::parse(":-1    -1 [000] 5 cycles: ").unwrap();
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.period), (":-1", -1, None, Some(5)));
        let parsed = SampleLine::parse("a 7/     8 cycles: ").unwrap();
        assert_eq!((parsed.pid, parsed.tid, parsed.event), (Some(7), 8, "cycles"));
    }

    #[test]
    fn errors_name_the_field() {
        assert_eq!(SampleLine::parse("nonsense").unwrap_err(), "pid or tid: missing");
        assert_eq!(SampleLine::parse("a 7 1.000000: ").unwrap_err(), "event: missing");
        for time in ["99999999999999999999.000000:", "1.5:", "18446744073.709551616:"] {
            assert_eq!(
                SampleLine::parse(&format!("a 7 [000] {time} 5 cycles: ")).unwrap_err(),
                format!("time: '{time}' is not a time")
            );
        }
        assert_eq!(SampleLine::parse("a 7 1.000000: many cycles: ").unwrap_err(), "event: 'many' is not an event");
    }
}
