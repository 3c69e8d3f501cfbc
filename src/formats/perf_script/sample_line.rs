//! Parses the first line of a sample: `comm  pid/tid [cpu] misc tod time: period event: `, with any of these fields missing.
//!
//! A comm can contain anything, and messages of perf or of the programs that it calls can be between the lines. Fields are therefore
//! recognized from those with an unmistakable form (a time, a CPU, a task before an event) outwards.

/// A parsed line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SampleLine<'a> {
    /// Comm of the thread, if printed.
    pub comm: &'a str,
    /// Process, where printed in addition to the thread.
    pub pid: Option<i32>,
    /// Thread, or process where only that is printed.
    pub tid: Option<i32>,
    /// CPU.
    pub cpu: Option<i32>,
    /// Time in nanoseconds.
    pub time: Option<u64>,
    /// Period.
    pub period: Option<u64>,
    /// Name of the event, if printed.
    pub event: &'a str,
    /// Text after the event: empty, fields of a tracepoint, or the only frame.
    pub rest: &'a str,
}

/// How certain it is that a line begins a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// Only if frames follow: any text looks like this.
    Low,
    /// It has the form of fields.
    High,
}

/// Words of a line.
struct Words<'a> {
    line: &'a str,
    /// Offsets and texts.
    list: Vec<(usize, &'a str)>,
}

impl<'a> Words<'a> {
    fn new(line: &'a str) -> Self {
        let offset = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
        Self { line, list: line.split_ascii_whitespace().map(|word| (offset(word), word)).collect() }
    }

    fn get(&self, at: usize) -> Option<&'a str> {
        self.list.get(at).map(|(_, word)| *word)
    }

    /// The text from a word on.
    fn from(&self, at: usize) -> &'a str {
        self.list.get(at).map_or("", |(offset, _)| &self.line[*offset..])
    }

    /// The text before a word.
    fn before(&self, at: usize) -> &'a str {
        self.list.get(at).map_or(self.line, |(offset, _)| &self.line[..*offset]).trim()
    }

    /// Width of a number, with the spaces by which it is aligned to the right.
    fn aligned_width(&self, at: usize) -> usize {
        let start = at.checked_sub(1).and_then(|before| self.list.get(before)).map_or(0, |(at, word)| at + word.len());
        self.list.get(at).map_or(0, |(offset, word)| offset + word.len() - start)
    }

    /// Whether a word is the name of an event.
    fn is_event(&self, at: usize) -> bool {
        self.get(at).is_some_and(|word| word.len() > 1 && word.ends_with(':') && time(word).is_none())
    }

    /// Index of the event, with or without a period before it.
    fn event_at(&self, at: usize) -> Option<usize> {
        let is_period = |word: &str| word.parse::<u64>().is_ok();
        if self.is_event(at) {
            return Some(at);
        }
        (self.get(at).is_some_and(is_period) && self.is_event(at + 1)).then_some(at + 1)
    }
}

impl<'a> SampleLine<'a> {
    /// Parses a line. `None` if it cannot begin a sample.
    pub(super) fn parse(line: &'a str) -> Option<(Self, Certainty)> {
        let words = Words::new(line);
        let count = words.list.len();
        // A comm may have the form of a time, a CPU or a task, so the last field before the event decides.
        let has_time = |at: &usize| words.get(*at).is_some_and(|word| time(word).is_some());
        let is_preceded = |at: &usize| Prefix::parse(&words, *at).tid.is_some();
        let times: Vec<_> = (0..count).filter(has_time).collect();
        let time_at = times.iter().copied().find(is_preceded).or(times.first().copied());
        let is_cpu = |at: &usize| words.get(*at).and_then(cpu).is_some();
        let cpu_at = || (1..count).filter(is_cpu).find(|at| Prefix::parse(&words, at + 1).tid.is_some());
        let task_at = || {
            let ends = (1..=count).filter(|end| Prefix::task(&words, *end).is_some());
            ends.into_iter().find(|end| words.event_at(*end).is_some())
        };
        let (mut sample, at) = if let Some(at) = time_at {
            (Self { time: words.get(at).and_then(time), ..Prefix::parse(&words, at) }, at + 1)
        } else if let Some(at) = cpu_at() {
            (Prefix::parse(&words, at + 1), at + 1)
        } else if let Some(end) = task_at() {
            (Prefix::parse(&words, end), end)
        } else if let Some(event) = (0..count).find(|at| words.is_event(*at)) {
            let has_period = event > 0 && words.get(event - 1).is_some_and(|word| word.parse::<u64>().is_ok());
            let at = event - usize::from(has_period);
            (Self { comm: words.before(at), ..Self::default() }, at)
        } else {
            // `-F comm,ip`: the kernel limits comms to 15 bytes.
            let comm = line.trim();
            let sample = Self { comm, ..Self::default() };
            return (comm.len() <= 15 && !comm.is_empty()).then_some((sample, Certainty::Low));
        };
        let rest_at = if let Some(event) = words.event_at(at) {
            sample.period = words.get(at).filter(|_| event > at).and_then(|word| word.parse().ok());
            sample.event = words.get(event).and_then(|word| word.strip_suffix(':')).unwrap_or_default();
            event + 1
        } else {
            // perf aligns periods to 10 columns and addresses to 16.
            let period = words.get(at).filter(|_| words.aligned_width(at) < 16).and_then(|word| word.parse().ok());
            sample.period = period.filter(|_| at + 1 == count);
            at + usize::from(sample.period.is_some())
        };
        sample.rest = words.from(rest_at).trim();
        let is_task_of_event = sample.tid.is_some() && (sample.rest.is_empty() || sample.event.contains(':'));
        let has_aligned_frame = sample.has_frame() && words.aligned_width(rest_at) >= 16;
        // Nothing follows the event, or its registers do; a message has no `misc` before it.
        let has_misc = rest_at >= 2 && words.get(rest_at - 2).is_some_and(is_misc);
        let is_end = !sample.event.is_empty() && (sample.rest.is_empty() || sample.rest.starts_with("ABI:"));
        let is_certain = has_aligned_frame
            || is_end && (has_misc || sample.rest.starts_with("ABI:"))
            || sample.time.is_some() && (sample.tid.is_some() || sample.comm.len() <= 15)
            || sample.cpu.is_some()
            || is_task_of_event;
        Some((sample, if is_certain { Certainty::High } else { Certainty::Low }))
    }

    /// Whether the text after the event is a frame rather than fields of a tracepoint.
    pub(super) fn has_frame(&self) -> bool {
        begins_with_address(self.rest)
    }

    /// The frame after the event, without the `addr` that can precede it.
    pub(super) fn frame_text(&self) -> &'a str {
        let Some((_, after)) = self.rest.split_once(|c: char| c.is_ascii_whitespace()) else { return self.rest };
        let word = after.split_ascii_whitespace().next().unwrap_or_default();
        // A function such as `add` follows its address after one space; addresses are aligned.
        let is_address = begins_with_address(word) && (word.len() > 8 || after.starts_with(' '));
        if is_address { after.trim_start() } else { self.rest }
    }
}

/// Whether a text begins with an address.
pub(super) fn begins_with_address(text: &str) -> bool {
    let word = text.split_ascii_whitespace().next().unwrap_or_default();
    word.bytes().all(|byte| byte.is_ascii_hexdigit()) && u64::from_str_radix(word, 16).is_ok()
}

/// The fields before a time, from right to left.
struct Prefix;

impl Prefix {
    /// Parses the words before `end`: comm, process and thread, CPU, `misc`, and the time of day.
    fn parse<'a>(words: &Words<'a>, end: usize) -> SampleLine<'a> {
        let mut at = end;
        let mut sample = SampleLine::default();
        let before = |at: usize| at.checked_sub(1).and_then(|at| words.get(at));
        if at >= 2 && before(at).is_some_and(is_time_of_day) && before(at - 1).is_some_and(is_date) {
            at -= 2;
        }
        let without_misc = if before(at).is_some_and(is_misc) { at - 1 } else { at };
        for at in [without_misc, at] {
            let cpu = before(at).and_then(cpu);
            let task_end = at - usize::from(cpu.is_some());
            if let Some((start, pid, tid)) = Self::task(words, task_end) {
                return SampleLine { comm: words.before(start), pid, tid: Some(tid), cpu, ..sample };
            }
        }
        // Without a task, `misc` and CPU are recognized only if something precedes them, or nothing else is there.
        if without_misc > 0 {
            at = without_misc;
        }
        if let Some(cpu) = before(at).and_then(cpu) {
            sample.cpu = Some(cpu);
            at -= 1;
        }
        sample.comm = words.before(at);
        sample
    }

    /// Process, if printed, and thread, in the words before `end`; and the first of these words.
    fn task(words: &Words<'_>, end: usize) -> Option<(usize, Option<i32>, i32)> {
        let number = |text: &str| text.parse::<i32>().ok();
        let last = words.get(end.checked_sub(1)?)?;
        if let Some((pid, tid)) = last.split_once('/') {
            return Some((end - 1, Some(number(pid)?), number(tid)?));
        }
        let tid = number(last)?;
        // With a space after the slash, they are two words.
        let pid = end.checked_sub(2).and_then(|at| words.get(at)).and_then(|word| number(word.strip_suffix('/')?));
        Some((end - 1 - usize::from(pid.is_some()), pid, tid))
    }
}

/// The letters of `misc`: the space of a sample, and marks of other records.
fn is_misc(word: &str) -> bool {
    word.len() <= 2 && word.bytes().all(|byte| b"KUHGgESDTMp".contains(&byte))
}

/// `2026-01-31`.
fn is_date(word: &str) -> bool {
    let mut parts = word.split('-').map(|part| part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_digit()));
    [parts.next(), parts.next(), parts.next(), parts.next()] == [Some(true), Some(true), Some(true), None]
}

/// `12:34:56.123456`.
fn is_time_of_day(word: &str) -> bool {
    let mut parts = word.split(':');
    let mut is_number = || parts.next().is_some_and(|part| !part.is_empty() && part.parse::<f64>().is_ok());
    is_number() && is_number() && is_number() && parts.next().is_none()
}

/// Parses `[003]`.
fn cpu(word: &str) -> Option<i32> {
    word.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
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

    fn parse(line: &str) -> SampleLine<'_> {
        let (sample, certainty) = SampleLine::parse(line).unwrap();
        assert_eq!(certainty, Certainty::High, "{line}");
        sample
    }

    #[test]
    fn parses_lines_by_the_form_of_fields() {
        let plain = SampleLine {
            comm: "loop",
            tid: Some(21998),
            time: Some(1_806_624_218_000),
            event: "cpu-clock",
            ..SampleLine::default()
        };
        let parsed = parse("loop 21998  1806.624218:     250000 cpu-clock: ");
        assert_eq!(parsed, SampleLine { period: Some(250_000), ..plain });
        let parsed = parse("   Web Content 12  34/56 [003]  1.000000005:  9 cycles:u:   401000 main+0x2 (/bin/a)");
        let expected = SampleLine {
            comm: "Web Content 12",
            pid: Some(34),
            tid: Some(56),
            cpu: Some(3),
            time: Some(1_000_000_005),
            period: Some(9),
            event: "cycles:u",
            rest: "401000 main+0x2 (/bin/a)",
        };
        assert_eq!(parsed, expected);
        let parsed = parse("swapper     0/0     [000]     1.500000: sched:sched_switch: a=b c");
        assert_eq!(
            (parsed.pid, parsed.period, parsed.event, parsed.rest),
            (Some(0), None, "sched:sched_switch", "a=b c")
        );
        let parsed = parse(":-1    -1 [000] 5 cycles: ");
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.period), (":-1", Some(-1), None, Some(5)));
        let parsed = parse("a 7/     8 cycles: ");
        assert_eq!((parsed.pid, parsed.tid, parsed.event), (Some(7), Some(8), "cycles"));
    }

    #[test]
    fn comms_can_have_the_form_of_other_fields() {
        for comm in [
            "dd",
            "cc1",
            "1234",
            "f",
            "a b: c",
            "12 [001]",
            "[003]",
            "1.000000:",
            "x 1.500000:",
            "7/8",
            "K",
            ":5",
            "",
            "#a",
        ] {
            let line =
                format!("{comm:>16} 1461 [002]  2021.560023:    2004008 cpu-clock:  ffffffff81070040 chacha_permute");
            let parsed = parse(&line);
            let expected = (comm, Some(1461), Some(2), Some(2_021_560_023_000), Some(2_004_008), "cpu-clock");
            assert_eq!(
                (parsed.comm, parsed.tid, parsed.cpu, parsed.time, parsed.period, parsed.event),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn fields_can_be_missing() {
        let time = Some(445_071_241_000);
        let parsed = parse("spin 19909/19909   445.071241: ");
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.event), ("spin", Some(19909), time, ""));
        let parsed = parse("spin 19909 U       445.071241:    2004008 cpu-clock: ");
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.period), ("spin", Some(19909), time, Some(2_004_008)));
        let parsed = parse("spin 19909 2026-11-26 14:41:42.123456   445.071241:  cpu-clock: ");
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.event), ("spin", Some(19909), time, "cpu-clock"));
        let parsed = parse("spin   445.071241:  cpu-clock: ");
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.event), ("spin", None, time, "cpu-clock"));
        let parsed = parse("  445.071241:  cpu-clock: ");
        assert_eq!((parsed.comm, parsed.tid, parsed.time, parsed.event), ("", None, time, "cpu-clock"));
        let parsed = parse("spin 7   445.071241:    2004008 ");
        assert_eq!((parsed.period, parsed.event, parsed.rest), (Some(2_004_008), "", ""));
        let parsed = parse("spin 7   445.071241:           401000 ");
        assert_eq!((parsed.period, parsed.rest), (None, "401000"));
    }

    #[test]
    fn messages_are_not_certain_to_be_samples() {
        for line in [
            "Failed to open /tmp/perf-8011.map, continuing without symbols",
            "addr2line: DWARF error: could not find variable specification",
            "Processed 1000 events and lost 5 chunks!",
            "Warning:",
            "Check IO/CPU overload!",
            " instruction trace error type 1 time 707.133 cpu 0 pid 1 tid 1 ip 0 code 5: Lost trace data",
            "nonsense",
        ] {
            assert_ne!(SampleLine::parse(line).map(|(_, certainty)| certainty), Some(Certainty::High), "{line}");
        }
    }
}
