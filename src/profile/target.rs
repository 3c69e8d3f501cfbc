//! The target of `perf record`: a program that it started, processes, or the whole system.

use super::options::SplitBy;
use perf_data::abi::record::thread_map::ThreadMap;
use perf_data::stream::meta::Meta;

/// The target of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordTarget {
    /// All processes: `-a`, `-C`, or neither processes nor a program.
    System,
    /// Existing processes, or unknown.
    Tasks,
    /// A program and its children; the word of the command line that names it.
    Workload(String),
}

impl RecordTarget {
    /// The target of a recording or of a part of it.
    pub(super) fn for_part(split: Option<SplitBy>, threads: Option<&ThreadMap>, meta: &Meta) -> Self {
        match split {
            // The part is of one process, or of processes with one name, regardless of the target.
            Some(SplitBy::Pid | SplitBy::Comm) => Self::Tasks,
            _ => Self::new(threads, meta.cmdline().as_deref()),
        }
    }

    /// The target from the THREAD_MAP record, which lists the threads that events were opened for, and perf's command line.
    fn new(threads: Option<&ThreadMap>, command: Option<&[String]>) -> Self {
        let command = command.and_then(Command::parse);
        let is_system = match (threads, &command) {
            (Some(threads), _) => threads.entries.iter().any(|thread| thread.pid == ANY_THREAD),
            (None, Some(command)) => command.is_system(),
            (None, None) => false,
        };
        match command {
            _ if is_system => Self::System,
            Some(Command { workload: Some(workload), has_tasks: false, .. }) => Self::Workload(workload),
            _ => Self::Tasks,
        }
    }
}

/// The thread ID that means all threads.
const ANY_THREAD: i64 = -1;

/// Long options of `perf record` with a value, which may be the next argument.
const LONG_WITH_VALUE: [&str; 28] = [
    "event",
    "filter",
    "pid",
    "tid",
    "uid",
    "realtime",
    "cpu",
    "count",
    "output",
    "freq",
    "mmap-pages",
    "call-graph",
    "cgroup",
    "branch-filter",
    "delay",
    "clockid",
    "vmlinux",
    "affinity",
    "mmap-flush",
    "switch-max-files",
    "synth",
    "max-size",
    "num-thread-synthesize",
    "control",
    "proc-map-timeout",
    "off-cpu-thresh",
    "clang-path",
    "clang-opt",
];

/// Short options with a value, which may be the next argument.
const SHORT_WITH_VALUE: &str = "eptruCcoFmjGDk";

/// Short options with an optional value, attached to the letter.
const SHORT_WITH_ATTACHED_VALUE: &str = "ISz";

/// The target on the command line of `perf record`.
#[derive(Debug, Default, PartialEq, Eq)]
struct Command {
    /// `-a`.
    all_cpus: bool,
    /// `-C`.
    cpus: bool,
    /// `-p`, `-t` or `-u`.
    has_tasks: bool,
    /// The first word after the options.
    workload: Option<String>,
}

impl Command {
    /// Parses the words after `record`, also of `perf mem record` and the like.
    fn parse(words: &[String]) -> Option<Self> {
        let at = words.iter().position(|word| word == "record")?;
        let mut command = Self::default();
        let mut words = words[at + 1..].iter();
        while let Some(word) = words.next() {
            let takes_next = if word == "--" {
                command.workload = words.next().cloned();
                break;
            } else if let Some(long) = word.strip_prefix("--") {
                command.long(long)
            } else if let Some(letters) = word.strip_prefix('-') {
                command.short(letters)
            } else {
                command.workload = Some(word.clone());
                break;
            };
            if takes_next {
                words.next();
            }
        }
        Some(command)
    }

    /// Parses a long option; returns whether the next word is its value.
    fn long(&mut self, option: &str) -> bool {
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        match name {
            "all-cpus" => self.all_cpus = true,
            "cpu" => self.cpus = true,
            "pid" | "tid" | "uid" => self.has_tasks = true,
            _ => {}
        }
        value.is_none() && LONG_WITH_VALUE.contains(&name)
    }

    /// Parses short options; returns whether the next word is the value of the last one.
    fn short(&mut self, letters: &str) -> bool {
        for (at, letter) in letters.char_indices() {
            match letter {
                'a' => self.all_cpus = true,
                'C' => self.cpus = true,
                'p' | 't' | 'u' => self.has_tasks = true,
                _ => {}
            }
            if SHORT_WITH_ATTACHED_VALUE.contains(letter) {
                return false;
            }
            if SHORT_WITH_VALUE.contains(letter) {
                return at + letter.len_utf8() == letters.len();
            }
        }
        false
    }

    fn is_system(&self) -> bool {
        self.all_cpus || !self.has_tasks && (self.cpus || self.workload.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::record::thread_map::ThreadMapEntry;
    use perf_data::abi::text::FixedStr;

    fn words(command: &str) -> Vec<String> {
        command.split(' ').map(str::to_owned).collect()
    }

    fn by_command(command: &str) -> RecordTarget {
        RecordTarget::new(None, Some(&words(command)))
    }

    #[test]
    fn finds_the_workload_in_command_lines() {
        for options in [
            "",
            "-g ",
            "-e cycles:u -F 99 -o out.data ",
            "-F99 -gvo out.data ",
            "--call-graph dwarf --freq=99 ",
            "-z -Iax,bx -k mono -b -- ",
            "--switch-output=1s --switch-max-files 3 --user-regs=ip,sp ",
        ] {
            let target = by_command(&format!("/usr/bin/perf record {options}/bin/app -a -p 7"));
            assert_eq!(target, RecordTarget::Workload("/bin/app".to_owned()), "{options}");
        }
        assert_eq!(by_command("perf mem -t load record app"), RecordTarget::Workload("app".to_owned()));
    }

    #[test]
    fn distinguishes_system_wide_from_task_recordings() {
        for system in ["-a", "-ag -- sleep 5", "--all-cpus sleep 5", "-C 0,1 -- sleep 5", "--cpu=0 sleep 5", "-g"] {
            assert_eq!(by_command(&format!("perf record {system}")), RecordTarget::System, "{system}");
        }
        for tasks in ["-p 7", "-gp7 -- sleep 5", "--tid 8 sleep 5", "-C 0 -p 7", "-u root"] {
            assert_eq!(by_command(&format!("perf record {tasks}")), RecordTarget::Tasks, "{tasks}");
        }
        assert_eq!(RecordTarget::new(None, None), RecordTarget::Tasks);
        assert_eq!(by_command("simpleperf"), RecordTarget::Tasks);
    }

    #[test]
    fn the_thread_map_overrides_the_command_line() {
        let threads = |pid| ThreadMap { entries: vec![ThreadMapEntry { pid, comm: FixedStr::new(b"") }] };
        let command = words("perf sched record -- app");
        assert_eq!(RecordTarget::new(Some(&threads(-1)), Some(&command)), RecordTarget::System);
        assert_eq!(RecordTarget::new(Some(&threads(7)), Some(&command)), RecordTarget::Workload("app".to_owned()));
        assert_eq!(RecordTarget::new(Some(&threads(7)), Some(&words("perf record -C 0"))), RecordTarget::Tasks);
    }
}
