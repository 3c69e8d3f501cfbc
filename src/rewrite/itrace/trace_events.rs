//! The events of samples from traces.

use perf_data::trace::spe::packet::{SpeEvents, SpeOperation};
use perf_data::trace::spe::record::SpeRecord;
use std::str::FromStr;

/// An event of samples from a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TraceEvent {
    L1dMiss,
    L1dAccess,
    LlcMiss,
    LlcAccess,
    TlbMiss,
    TlbAccess,
    Branch,
    RemoteAccess,
    Memory,
    Instructions,
    /// Operations other than accesses and branches.
    Other,
}

impl TraceEvent {
    /// perf's name, except of `other`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::L1dMiss => "l1d-miss",
            Self::L1dAccess => "l1d-access",
            Self::LlcMiss => "llc-miss",
            Self::LlcAccess => "llc-access",
            Self::TlbMiss => "tlb-miss",
            Self::TlbAccess => "tlb-access",
            Self::Branch => "branch",
            Self::RemoteAccess => "remote-access",
            Self::Memory => "memory",
            Self::Instructions => "instructions",
            Self::Other => "other",
        }
    }

    /// The name of the event in traces of Intel BTS, which have branches only.
    pub(super) fn name_in_bts(self) -> Option<&'static str> {
        (self == Self::Branch).then_some("branches")
    }

    /// Whether a record is a sample of the event.
    pub(super) fn has(self, record: &SpeRecord) -> bool {
        let any = |events: SpeEvents| record.events.intersects(events);
        match self {
            Self::L1dMiss => any(SpeEvents::L1D_REFILL),
            Self::L1dAccess => any(SpeEvents::L1D_ACCESS | SpeEvents::L1D_REFILL),
            Self::LlcMiss => any(SpeEvents::LLC_MISS),
            Self::LlcAccess => any(SpeEvents::LLC_ACCESS | SpeEvents::LLC_MISS),
            Self::TlbMiss => any(SpeEvents::TLB_WALK),
            Self::TlbAccess => any(SpeEvents::TLB_ACCESS | SpeEvents::TLB_WALK),
            Self::RemoteAccess => any(SpeEvents::REMOTE),
            Self::Branch => record.operation.is_some_and(SpeOperation::is_branch),
            Self::Memory => record.operation.is_some_and(SpeOperation::is_memory_access),
            Self::Instructions => true,
            Self::Other => !Self::Branch.has(record) && !Self::Memory.has(record),
        }
    }

    /// Whether its samples have the target of branches as their address, instead of that of data.
    pub(super) fn has_target(self) -> bool {
        matches!(self, Self::Branch | Self::Instructions)
    }
}

/// The events of samples from traces. By default each record is one sample, of its class of operations, and branches have branch
/// stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceEvents {
    kinds: Vec<TraceEvent>,
    has_branch_stacks: bool,
    /// Whether samples of all events have branch stacks: with the target of the branch before, after which the code up to the record was
    /// executed. In perf, those of accesses have none.
    has_previous_branches: bool,
    /// Of how many records one is a sample of `instructions`.
    period: u64,
}

impl Default for TraceEvents {
    fn default() -> Self {
        let kinds = vec![TraceEvent::Branch, TraceEvent::Memory, TraceEvent::Other];
        Self { kinds, has_branch_stacks: true, has_previous_branches: true, period: 1 }
    }
}

impl TraceEvents {
    /// The events, in perf's order.
    pub(super) fn kinds(&self) -> &[TraceEvent] {
        &self.kinds
    }

    /// Whether samples have branch stacks.
    pub fn has_branch_stacks(&self) -> bool {
        self.has_branch_stacks
    }

    pub(super) fn has_previous_branches(&self) -> bool {
        self.has_previous_branches
    }

    pub(super) fn period(&self) -> u64 {
        self.period
    }
}

/// perf's letters. Those of other traces are accepted and have no effect; without letters, the [default](TraceEvents::default).
impl FromStr for TraceEvents {
    type Err = String;

    fn from_str(letters: &str) -> Result<Self, String> {
        if letters.is_empty() {
            return Ok(Self::default());
        }
        let mut events = Self { kinds: Vec::new(), has_branch_stacks: false, has_previous_branches: false, period: 1 };
        let mut rest = letters.chars().peekable();
        while let Some(letter) = rest.next() {
            let kinds: &[TraceEvent] = match letter {
                'f' => &[TraceEvent::L1dMiss, TraceEvent::L1dAccess],
                'm' => &[TraceEvent::LlcMiss, TraceEvent::LlcAccess],
                't' => &[TraceEvent::TlbMiss, TraceEvent::TlbAccess],
                'b' => &[TraceEvent::Branch],
                'a' => &[TraceEvent::RemoteAccess],
                'M' => &[TraceEvent::Memory],
                'i' => {
                    let mut number = String::new();
                    while let Some(digit) = rest.next_if(char::is_ascii_digit) {
                        number.push(digit);
                    }
                    if !number.is_empty() {
                        events.period = number
                            .parse()
                            .ok()
                            .filter(|&period| period > 0)
                            .ok_or("the period of 'i' must be positive")?;
                        rest.next_if_eq(&'i')
                            .ok_or("Arm SPE has no times between records; end the period with 'i', as in i10i")?;
                    }
                    &[TraceEvent::Instructions]
                }
                'l' => {
                    while rest.next_if(char::is_ascii_digit).is_some() {}
                    events.has_branch_stacks = true;
                    &[]
                }
                'e' | 'd' => {
                    while rest.next_if(|&next| matches!(next, '+' | '-')).is_some() {
                        while rest.next_if(|next| next.is_ascii_lowercase()).is_some() {}
                    }
                    &[]
                }
                'y' | 'c' | 'r' | 'x' | 'w' | 'p' | 'I' | 'o' | 'q' | 'A' | 'Z' | 'T' | ' ' | ',' => &[],
                'g' | 'G' | 'L' | 's' => {
                    while rest.next_if(char::is_ascii_digit).is_some() {}
                    &[]
                }
                _ => return Err(format!("unknown letter '{letter}'; those of Arm SPE are f, m, t, a, b, M, i, l")),
            };
            events.kinds.extend(kinds);
        }
        if events.kinds.is_empty() {
            return Err("no letter is of events of Arm SPE: f, m, t, a, b, M or i".to_owned());
        }
        events.kinds.sort_unstable();
        events.kinds.dedup();
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(letters: &str) -> Vec<&'static str> {
        letters.parse::<TraceEvents>().unwrap().kinds().iter().map(|kind| kind.name()).collect()
    }

    #[test]
    fn letters_are_those_of_perf() {
        assert_eq!(names(""), ["branch", "memory", "other"]);
        assert_eq!(names("Mb, fl32"), ["l1d-miss", "l1d-access", "branch", "memory"]);
        assert_eq!(
            names("tmai10ie-od+x"),
            ["llc-miss", "llc-access", "tlb-miss", "tlb-access", "remote-access", "instructions"]
        );
        assert_eq!("i10i".parse::<TraceEvents>().unwrap().period(), 10);
        assert!("bl".parse::<TraceEvents>().unwrap().has_branch_stacks());
    }

    #[test]
    fn others_are_rejected() {
        for letters in ["z", "i10us", "i0i", "i99999999999999999999i", "g", "ß"] {
            assert!(letters.parse::<TraceEvents>().is_err(), "{letters}");
        }
    }
}
