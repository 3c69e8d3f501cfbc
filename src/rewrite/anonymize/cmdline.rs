//! Anonymizes perf's command line: `perf record OPTIONS [--] COMMAND ARGUMENTS`. perf's own words are kept where perf uses them;
//! the recorded command, and everything not understood, is replaced.

use super::category::Category;
use super::events::is_raw;
use super::replace::Replacer;
use super::vocabulary::{self, has};
use perf_data::abi::feature::string::PerfStr;

/// Maximum number of digits in an option's number.
const MAX_DIGITS: usize = 10;

/// The kind of value that follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArgumentValue {
    /// No value, or one in the same word after `=`.
    Nothing,
    /// Numbers with units, or perf's own words.
    Plain,
    /// Event names.
    Events,
    /// Process or thread IDs.
    Pids,
    /// Identifying values: file names, cgroups, users.
    Identifying,
}

/// The kind of value of a perf option; `None` if perf has no such option.
fn value_kind(option: &[u8]) -> Option<ArgumentValue> {
    [
        (vocabulary::FLAGS, ArgumentValue::Nothing),
        (vocabulary::PLAIN_OPTIONS, ArgumentValue::Plain),
        (vocabulary::EVENT_OPTIONS, ArgumentValue::Events),
        (vocabulary::PID_OPTIONS, ArgumentValue::Pids),
        (vocabulary::IDENTIFYING_OPTIONS, ArgumentValue::Identifying),
    ]
    .into_iter()
    .find_map(|(options, value)| has(options, option).then_some(value))
}

impl Replacer {
    /// Anonymizes the words of a command line.
    pub(crate) fn cmdline(&mut self, words: &mut [PerfStr]) {
        let (mut command, mut value, mut is_recorded) = (None, ArgumentValue::Nothing, false);
        for (index, text) in words.iter_mut().enumerate() {
            let word = text.text().to_vec();
            let to = if is_recorded {
                self.replace_word(&word)
            } else if index == 0 {
                if word == b"perf" { word } else { self.replace_word(&word) }
            } else if value != ArgumentValue::Nothing {
                self.value(std::mem::replace(&mut value, ArgumentValue::Nothing), &word)
            } else if word == b"--" {
                is_recorded = true;
                word
            } else if word.starts_with(b"-") {
                let (to, follows) = self.option(&word);
                value = follows;
                to
            } else if is_command(command.as_deref(), &word) {
                command = Some(word.clone());
                word
            } else {
                is_recorded = true;
                self.replace_word(&word)
            };
            *text = PerfStr::new(&to);
        }
    }

    /// Anonymizes an option; returns the kind of value that follows it.
    fn option(&mut self, word: &[u8]) -> (Vec<u8>, ArgumentValue) {
        if let Some(value) = value_kind(word) {
            return (word.to_vec(), value);
        }
        // The value may be in the same word: `--freq=99`, `-F99`.
        let at =
            if word.starts_with(b"--") { word.iter().position(|&byte| byte == b'=').map(|at| at + 1) } else { Some(2) };
        let (option, value) = at.and_then(|at| word.split_at_checked(at)).unwrap_or((word, b""));
        match value_kind(option.strip_suffix(b"=").unwrap_or(option)) {
            // Letters after a short flag may be more flags, or anything else.
            Some(ArgumentValue::Nothing) if option.len() == 2 => (self.replace_word(word), ArgumentValue::Nothing),
            Some(ArgumentValue::Nothing) => {
                ([option, &self.value(ArgumentValue::Plain, value)].concat(), ArgumentValue::Nothing)
            }
            Some(kind) => ([option, &self.value(kind, value)].concat(), ArgumentValue::Nothing),
            None => (self.replace_word(word), ArgumentValue::Nothing),
        }
    }

    /// Anonymizes the value of an option.
    fn value(&mut self, kind: ArgumentValue, word: &[u8]) -> Vec<u8> {
        let parts = || word.split(|&byte| byte == b',');
        let is_kept = match kind {
            ArgumentValue::Pids if parts().all(|pid| parse_pid(pid).is_some()) => {
                let pids = parts().filter_map(parse_pid).map(|pid| self.pid(pid).to_string());
                return pids.collect::<Vec<_>>().join(",").into_bytes();
            }
            ArgumentValue::Events => self.are_events(word),
            ArgumentValue::Plain => parts().all(is_plain),
            ArgumentValue::Identifying => word == b"-",
            // What perf mem samples.
            ArgumentValue::Pids => has(vocabulary::VALUES, word),
            ArgumentValue::Nothing => false,
        };
        if is_kept { word.to_vec() } else { self.replace_word(word) }
    }

    /// Whether all events of a list are common ones.
    fn are_events(&self, list: &[u8]) -> bool {
        let mut is_in_term = false;
        let events = list.split(|&byte| {
            is_in_term ^= byte == b'/';
            byte == b',' && !is_in_term
        });
        events.into_iter().all(|event| is_raw(event) || self.is_common_event(event, true))
    }

    /// Replaces a word that is not perf's.
    fn replace_word(&mut self, word: &[u8]) -> Vec<u8> {
        if self.replaces(Category::Cmdline) { self.names.path(word) } else { word.to_vec() }
    }
}

/// Whether a word is a perf command, given the command before it: `record`, `sched record`.
fn is_command(before: Option<&[u8]>, word: &[u8]) -> bool {
    match before {
        None => has(vocabulary::COMMANDS, word),
        Some(b"record" | b"top") => false,
        Some(_) => word == b"record",
    }
}

fn parse_pid(word: &[u8]) -> Option<u32> {
    std::str::from_utf8(word).ok().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// Whether a word is a number with an optional unit, a range of numbers, or a word that perf knows.
fn is_plain(word: &[u8]) -> bool {
    let is_number = |number: &[u8]| {
        let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (1..=MAX_DIGITS).contains(&digits) && has(&["", "B", "K", "M", "G"], &number[digits..])
    };
    has(vocabulary::VALUES, word) || word.splitn(2, |&byte| byte == b'-').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::anonymize::category::KeptCategories;
    use crate::rewrite::anonymize::key::Key;

    /// Anonymizes a command line; replaced parts are shown as `?`.
    fn anonymized(line: &str, kept: KeptCategories) -> String {
        let mut replace = Replacer::new(Key::new(&[3; 16]).unwrap(), kept);
        let mut words: Vec<_> = line.split(' ').map(|word| PerfStr::new(word.as_bytes())).collect();
        replace.cmdline(&mut words);
        let shown = words.iter().zip(line.split(' ')).map(|(to, word)| {
            let to = to.to_text();
            let same = to.bytes().zip(word.bytes()).take_while(|(a, b)| a == b).count();
            if to == word { to } else { format!("{}?", &word[..same]) }
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn keeps_perfs_own_words() {
        for line in [
            "perf record -a -g -F 99 -c 1000 -m 16 -C 0-3,7 -z --call-graph dwarf,8192 -k mono -e cycles:u -o -",
            "perf record --freq=99 -F99 --switch-output=1G -e sched:sched_switch,cpu/event=0x3c,umask=1/,L1-dcache-loads --",
            "perf mem -t load record -p 123 -t 4711,4712",
            "perf stat record",
            "perf sched record",
        ] {
            assert_eq!(anonymized(line, KeptCategories::default()), line);
        }
    }

    #[test]
    fn replaces_all_other_words() {
        for (line, to) in [
            ("/usr/bin/perf record sleep 1", "/? record ? ?"),
            ("perf record -g perf record -p 12", "perf record -g ? ? ? ?"),
            ("perf record -a -- cycles 4111111111111111 0xdeadbeef", "perf record -a -- ? ? ?"),
            ("perf record rca11ab1e net:sekret-host time=12345678", "perf record ? ? ?"),
            ("perf record -F 99 4711 -F 99", "perf record -F 99 ? ? ?"),
            ("perf record -c 4111111111111111 -o 4711 -u 1000", "perf record -c ? -o ? -u ?"),
            ("perf record -e probe:alice,cycles --filter=a --alice x -a", "perf record -e ? --filter=? ? ? ?"),
            ("perf record -galice -F1alice", "perf record ? -F?"),
            ("perf record net:alice -e net:alice", "perf record ? ? ?"),
        ] {
            assert_eq!(anonymized(line, KeptCategories::default()), to, "{line}");
        }
        let line = "perf record -p 12,13 -t 14 sleep 12";
        assert_eq!(anonymized(line, KeptCategories::new(&[], &[Category::Pids])), "perf record -p ? -t ? ? ?");
        assert_eq!(anonymized(line, KeptCategories::new(&[Category::Cmdline], &[])), line);
    }
}
