//! What the reader of perf accepts of each feature.
//!
//! perf reads the features of a file in the order of their IDs and stops at the first one that it rejects: it never sees those
//! behind it, such as COMPRESSED, without which it cannot decompress records. In a pipe, it refuses the recording. perf 7.1 and
//! newer also refuse files, and have limits on counts. The rules were tried on perf 6.1; the limits on counts are those of perf
//! 7.2.

use super::group_desc::Group;
use super::{Feature, FeatureId, FeatureSection};

/// The parts of a recording that decide whether perf accepts a feature.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfReader {
    /// Number of events; `None` if they may come later.
    pub events: Option<usize>,
    /// Whether the socket IDs of the architecture are unrelated to the number of CPUs.
    pub has_free_socket_ids: bool,
    /// Whether the recording is a directory.
    pub is_directory: bool,
}

/// Why perf rejects a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The rule that the feature violates.
    pub kind: RejectionKind,
    /// The problem, in words.
    pub problem: String,
    /// Whether all versions of perf reject it, not only 7.1 and newer.
    pub by_all: bool,
}

/// The kind of a [`Rejection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionKind {
    /// A version that perf does not know.
    Version,
    /// A value or count beyond what perf accepts.
    Limit,
    /// A contradiction to the rest of the recording.
    Contradiction,
}

impl Rejection {
    fn by_all(kind: RejectionKind, problem: String) -> Self {
        Self { kind, problem, by_all: true }
    }

    fn by_newest(problem: String) -> Self {
        Self { kind: RejectionKind::Limit, problem, by_all: false }
    }
}

/// Size of `struct bpf_prog_info` since Linux 6.18. perf rejects programs with a larger one than its own.
const BPF_PROG_INFO: usize = 248;

/// Number of CPUs of a list from which perf, which compares each with all others, takes minutes.
const MAX_LISTED_CPUS: u64 = 1 << 17;

impl PerfReader {
    /// The architectures whose socket IDs perf does not compare with the number of CPUs.
    pub fn has_free_socket_ids(arch: &str) -> bool {
        arch.starts_with("s390") || arch.starts_with("aarch64")
    }

    /// Why perf rejects a feature; `None` if it accepts it or its layout is invalid.
    pub fn rejection(&self, section: &FeatureSection) -> Option<Rejection> {
        version(&section.feature).or_else(|| self.value(section)).or_else(|| count(&section.feature))
    }

    /// Why a recording with this feature is unreadable for every perf that needs a feature behind it, or reads a pipe.
    pub fn obstacle(&self, section: &FeatureSection) -> Option<String> {
        // perf goes on after build IDs and descriptions of events that it cannot read. Without tracing data, tracepoints could
        // not be read either. It accepts sizes of descriptions of BPF programs that older kernels do not have.
        let ignored = [FeatureId::TRACING_DATA, FeatureId::BUILD_ID, FeatureId::EVENT_DESC, FeatureId::BPF_PROG_INFO];
        if matches!(section.feature, Feature::Opaque(_))
            && section.id.name().is_some()
            && !ignored.contains(&section.id)
        {
            return Some("its bytes do not have the layout of this feature".to_owned());
        }
        self.rejection(section).filter(|rejection| rejection.by_all).map(|rejection| rejection.problem)
    }

    fn value(&self, section: &FeatureSection) -> Option<Rejection> {
        let limit = |problem| Some(Rejection::by_all(RejectionKind::Limit, problem));
        let contradiction = |problem| Some(Rejection::by_all(RejectionKind::Contradiction, problem));
        match &section.feature {
            Feature::CpuTopology(topology) => {
                let cpus = topology.cpus.len();
                let is_beyond = |socket: u32| socket != u32::MAX && socket as usize > cpus && !self.has_free_socket_ids;
                if let Some(index) = topology.cpus.iter().position(|cpu| is_beyond(cpu.socket_id)) {
                    let socket = topology.cpus[index].socket_id;
                    return limit(format!("socket ID {socket} of CPU {index} exceeds the number of CPUs, {cpus}"));
                }
                let is_partial = topology.cpus.is_empty() || topology.dies.is_none();
                (is_partial && !section.tail.is_empty()).then(|| {
                    let problem = "its core, socket or die IDs are not as many as the CPUs of NRCPUS".to_owned();
                    Rejection::by_all(RejectionKind::Contradiction, problem)
                })
            }
            Feature::NumaTopology(topology) => {
                let (problem, node) =
                    topology.nodes.iter().find_map(|node| Some((cpu_list_problem(node.cpus.text())?, node)))?;
                limit(format!("the CPUs {:?} of node {} {problem}", node.cpus.to_text(), node.node))
            }
            Feature::GroupDesc(groups) => contradiction(group_problem(&groups.groups, self.events?)?),
            Feature::DirFormat(_) if !self.is_directory => {
                contradiction("only a directory of perf record --threads may have it".to_owned())
            }
            Feature::BpfProgInfos(infos) => {
                let largest = infos.programs.iter().map(|program| program.info_size()).max().unwrap_or(0);
                (largest > BPF_PROG_INFO).then(|| {
                    let problem =
                        format!("the description of a program has {largest} bytes; perf accepts {BPF_PROG_INFO}");
                    Rejection::by_all(RejectionKind::Limit, problem)
                })
            }
            _ => None,
        }
    }
}

fn version(feature: &Feature) -> Option<Rejection> {
    let (version, supported) = match feature {
        Feature::Caches(caches) => (caches.version.into(), 1..=1),
        Feature::MemTopology(topology) => (topology.version, 1..=1),
        Feature::ClockData(clocks) => (clocks.version.into(), 1..=1),
        Feature::DirFormat(format) => (format.version, 0..=1),
        Feature::Compression(compression) => (compression.version.into(), 0..=0),
        _ => return None,
    };
    let problem = || format!("version {version} is not supported by any perf");
    (!supported.contains(&version)).then(|| Rejection::by_all(RejectionKind::Version, problem()))
}

/// Limits on counts that perf 7.1 and newer check.
fn count(feature: &Feature) -> Option<Rejection> {
    let (count, problem, limit) = match feature {
        Feature::NrCpus(cpus) if cpus.nr_cpus_online > cpus.nr_cpus_avail => {
            let (online, available) = (cpus.nr_cpus_online, cpus.nr_cpus_avail);
            let problem = format!("{online} CPUs are online, but only {available} are available");
            return Some(Rejection::by_newest(problem));
        }
        Feature::Cmdline(cmdline) => (cmdline.strings.len(), "arguments", 1 << 20),
        Feature::BpfProgInfos(infos) => {
            let largest = infos.programs.iter().map(|program| program.data.len()).max().unwrap_or(0);
            if largest > 256 << 20 {
                let problem = format!("a program has {largest} bytes; perf accepts at most 268435456");
                return Some(Rejection::by_newest(problem));
            }
            (infos.programs.len(), "programs", 131_072)
        }
        Feature::Caches(caches) => (caches.caches.len(), "caches", 32_768),
        Feature::GroupDesc(groups) => (groups.groups.len(), "groups", 32_768),
        Feature::NumaTopology(topology) => (topology.nodes.len(), "nodes", 4096),
        Feature::MemTopology(topology) => (topology.nodes.len(), "nodes", 4096),
        Feature::CpuPmuCaps(caps) => (caps.caps.len(), "capabilities", 512),
        Feature::PmuCaps(pmus) => (pmus.pmus.len(), "PMUs", 512),
        Feature::PmuMappings(mappings) => (mappings.pmus.len(), "PMUs", 4096),
        Feature::CpuDomainInfo(info) => {
            (info.cpus.iter().map(|cpu| cpu.domains.len()).max().unwrap_or(0), "domains of a CPU", 64)
        }
        _ => return None,
    };
    (count > limit).then(|| Rejection::by_newest(format!("it has {count} {problem}; perf accepts at most {limit}")))
}

/// Why perf rejects groups of events: they must follow each other in the order of the events, without overlap.
fn group_problem(groups: &[Group], events: usize) -> Option<String> {
    let mut end = 0;
    for group in groups {
        let (first, members) = (u64::from(group.leader_idx), u64::from(group.nr_members));
        if members == 0 {
            return Some(format!("the group of event {first} has no members"));
        }
        if first < end {
            return Some(format!("the group of event {first} begins within the group before it"));
        }
        end = first + members;
        if end > events as u64 {
            return Some(format!("a group extends to event {}, but there are {events} events", end - 1));
        }
    }
    None
}

/// Why perf rejects a list of CPUs such as `0-3,8`; `None` if it accepts it. It accepts an empty list, one that ends within a
/// range, and anything after a comma that is no digit.
fn cpu_list_problem(list: &[u8]) -> Option<&'static str> {
    const NO_LIST: Option<&str> = Some("are not a list of CPUs");
    if !list.first().is_none_or(u8::is_ascii_digit) {
        return NO_LIST;
    }
    let (mut rest, mut ranges) = (list, Vec::<(u64, u64)>::new());
    while rest.first().is_some_and(u8::is_ascii_digit) {
        let (first, mut behind) = number(rest);
        let mut last = first;
        match behind.first() {
            Some(b'-') => {
                (last, behind) = number(&behind[1..]);
                if !matches!(behind.first(), None | Some(b',')) {
                    return NO_LIST;
                }
            }
            None | Some(b',' | b'\n') => {}
            Some(_) => return NO_LIST,
        }
        if last < first || last >= i32::MAX as u64 {
            return Some("are not a range of CPUs");
        }
        if ranges.iter().any(|&(start, end)| first <= end && start <= last) {
            return Some("name a CPU twice");
        }
        ranges.push((first, last));
        rest = behind.get(1..).unwrap_or_default();
    }
    let cpus: u64 = ranges.iter().map(|(first, last)| last - first + 1).sum();
    (cpus > MAX_LISTED_CPUS).then_some("are more than perf can read in reasonable time")
}

/// The number that C's `strtoul` finds, which is 0 without digits, and the text after it.
fn number(text: &[u8]) -> (u64, &[u8]) {
    let (radix, digits) = match text {
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => (16, digits),
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let len = digits.iter().take_while(|&&digit| char::from(digit).is_digit(radix)).count();
    let value = digits[..len].iter().fold(0_u64, |value, &digit| {
        let digit = char::from(digit).to_digit(radix).unwrap_or(0);
        value.saturating_mul(radix.into()).saturating_add(digit.into())
    });
    (value, &digits[len..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::feature::cpu_topology::{CpuPlace, CpuTopology};
    use crate::abi::feature::string::{PerfStr, StrList};

    /// As observed with perf 6.1.
    #[test]
    fn lists_of_cpus_are_accepted_as_by_perf() {
        for list in ["", "0-1", "0-", "0,", "0-1,", "1,0", "0-1,3", "01", "0x1", "2-2", "0-70000", "5000"] {
            assert_eq!(cpu_list_problem(list.as_bytes()), None, "{list:?}");
        }
        let rejected = [
            "x",
            "0-1,1",
            "1-0",
            "0,0",
            "0-1\n",
            "0-2147483646",
            "2147483647",
            "0-2147483647",
            "0;1",
            ",0",
            "-1",
            " 0",
            "any",
            "0-1-2",
            "0-1,1-2",
            "0--1",
            "1-",
            "0-1000000",
        ];
        for list in rejected {
            assert!(cpu_list_problem(list.as_bytes()).is_some(), "{list:?}");
        }
    }

    /// As observed with perf 6.1, on a recording of one event.
    #[test]
    fn groups_follow_each_other_within_the_events() {
        let problem = |groups: &[(u32, u32)], events| {
            let name = PerfStr::new(b"g");
            let groups =
                groups.iter().map(|&(leader_idx, nr_members)| Group { name: name.clone(), leader_idx, nr_members });
            group_problem(&groups.collect::<Vec<_>>(), events).is_some()
        };
        assert!(!problem(&[], 1) && !problem(&[(0, 1)], 1) && !problem(&[(0, 2), (3, 1)], 4));
        for groups in [&[(0, 2)][..], &[(1, 1)], &[(0, 0)], &[(0, 1), (0, 1)], &[(5, 1)], &[(0, u32::MAX)]] {
            assert!(problem(groups, 1), "{groups:?}");
        }
        assert!(problem(&[(2, 1), (0, 1)], 3), "groups are in the order of the events");
    }

    #[test]
    fn only_features_with_a_known_layout_that_perf_needs_are_obstacles() {
        let is_obstacle = |id, feature| {
            let section = FeatureSection { id, feature, tail: Vec::new() };
            PerfReader::default().obstacle(&section).is_some()
        };
        let opaque = || Feature::Opaque(vec![1]);
        assert!(is_obstacle(FeatureId::HOSTNAME, opaque()));
        assert!(!is_obstacle(FeatureId::BUILD_ID, opaque()));
        assert!(!is_obstacle(FeatureId(200), opaque()));
        assert!(!is_obstacle(FeatureId::HOSTNAME, Feature::Hostname(PerfStr::new(b"vm"))));
    }

    /// As perf does: an ID equal to the number of CPUs is accepted, and so is the one of unknown sockets.
    #[test]
    fn socket_ids_are_limited_by_the_number_of_cpus() {
        let rejection = |has_free_socket_ids, socket_id| {
            let cpus = vec![CpuPlace { core_id: 0, socket_id }];
            let topology = CpuTopology { cores: StrList::default(), threads: StrList::default(), cpus, dies: None };
            let feature = Feature::CpuTopology(topology);
            let section = FeatureSection { id: FeatureId::CPU_TOPOLOGY, feature, tail: Vec::new() };
            let reader = PerfReader { has_free_socket_ids, ..PerfReader::default() };
            reader.rejection(&section).map(|rejection| rejection.kind)
        };
        assert_eq!([1, 2, u32::MAX].map(|id| rejection(false, id)), [None, Some(RejectionKind::Limit), None]);
        assert_eq!(rejection(true, 2), None);
    }
}
