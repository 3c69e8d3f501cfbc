//! `PERF_RECORD_SCHEDSTAT_CPU` and `PERF_RECORD_SCHEDSTAT_DOMAIN`: a line of `/proc/schedstat` each.

use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Scheduler statistics of a CPU. Since perf 7.0.
///
/// ```c
/// u64 timestamp; u32 cpu; u16 version, pad;
/// struct schedstat_cpu counts;  // the same in versions 15, 16 and 17
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedstatCpu {
    /// Time of reading, in jiffies.
    pub timestamp: u64,
    /// CPU number.
    pub cpu: u32,
    /// Version of `/proc/schedstat`.
    pub version: u16,
    /// Unused.
    pub pad: u16,
    /// Counts; `None` if the version is unknown.
    #[br(if(matches!(version, 15..=17)))]
    pub counts: Option<CpuCounts>,
}

/// Counts of a CPU in `/proc/schedstat`.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCounts {
    /// Calls of sched_yield(2).
    pub yld_count: u32,
    /// Switches to the expired array, of a former scheduler.
    pub array_exp: u32,
    /// Calls of the scheduler.
    pub sched_count: u32,
    /// Those that left the CPU idle.
    pub sched_goidle: u32,
    /// Wakeups.
    pub ttwu_count: u32,
    /// Those from this CPU.
    pub ttwu_local: u32,
    /// Run time of tasks in nanoseconds.
    pub rq_cpu_time: u64,
    /// Time that tasks waited to run, in nanoseconds.
    pub run_delay: u64,
    /// Time slices.
    pub pcount: u64,
}

/// Scheduler statistics of a domain of a CPU. Since perf 7.0.
///
/// ```c
/// u64 timestamp; u32 cpu; u16 version, domain;
/// struct schedstat_domain counts;  // different in each version
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedstatDomain {
    /// Time of reading, in jiffies.
    pub timestamp: u64,
    /// CPU number.
    pub cpu: u32,
    /// Version of `/proc/schedstat`.
    pub version: u16,
    /// Index of the domain, 0 for the smallest.
    pub domain: u16,
    /// Counts; `None` if the version is unknown.
    #[br(if(matches!(version, 15..=17)), args(version))]
    pub counts: Option<DomainCounts>,
}

/// Counts of a domain in `/proc/schedstat`.
#[binrw]
#[br(import(version: u16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainCounts {
    /// Load balancing, by state of the CPU.
    #[br(args(version))]
    pub balance: Balance,
    /// Active balancing: attempts.
    pub alb_count: u32,
    /// Active balancing: failures.
    pub alb_failed: u32,
    /// Active balancing: tasks moved.
    pub alb_pushed: u32,
    /// Balancing at exec, unused.
    pub sbe_count: u32,
    /// Balancing at exec, unused.
    pub sbe_balanced: u32,
    /// Balancing at exec, unused.
    pub sbe_pushed: u32,
    /// Balancing at fork, unused.
    pub sbf_count: u32,
    /// Balancing at fork, unused.
    pub sbf_balanced: u32,
    /// Balancing at fork, unused.
    pub sbf_pushed: u32,
    /// Wakeups on another CPU of the domain than the last one.
    pub ttwu_wake_remote: u32,
    /// Those because of a warm cache.
    pub ttwu_move_affine: u32,
    /// Those for load balancing.
    pub ttwu_move_balance: u32,
}

/// Load balancing by state of the CPU. The order of the states depends on the version.
#[binrw]
#[br(import(version: u16))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Balance {
    /// Version 15, up to Linux 6.9.
    #[br(pre_assert(version == 15))]
    V15 {
        /// Idle.
        idle: LoadBalance,
        /// Busy.
        busy: LoadBalance,
        /// Becoming idle.
        newidle: LoadBalance,
    },
    /// Version 16, from Linux 6.10.
    #[br(pre_assert(version == 16))]
    V16 {
        /// Busy.
        busy: LoadBalance,
        /// Idle.
        idle: LoadBalance,
        /// Becoming idle.
        newidle: LoadBalance,
    },
    /// Version 17, from Linux 6.14.
    #[br(pre_assert(version == 17))]
    V17 {
        /// Busy.
        busy: LoadBalance17,
        /// Idle.
        idle: LoadBalance17,
        /// Becoming idle.
        newidle: LoadBalance17,
    },
}

/// Load balancing in one state of the CPU, up to version 16.
#[binrw]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalance {
    /// Attempts.
    pub count: u32,
    /// Those that found the load balanced.
    pub balanced: u32,
    /// Those that failed.
    pub failed: u32,
    /// Sum of imbalances.
    pub imbalance: u32,
    /// Tasks moved to this CPU.
    pub gained: u32,
    /// Those with a warm cache.
    pub hot_gained: u32,
    /// Attempts that found no busier queue.
    pub nobusyq: u32,
    /// Attempts that found no busier group.
    pub nobusyg: u32,
}

/// Load balancing in one state of the CPU, in version 17: four kinds of imbalance.
#[binrw]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalance17 {
    /// Attempts.
    pub count: u32,
    /// Those that found the load balanced.
    pub balanced: u32,
    /// Those that failed.
    pub failed: u32,
    /// Sum of load imbalances.
    pub imbalance_load: u32,
    /// Sum of utilization imbalances.
    pub imbalance_util: u32,
    /// Sum of task count imbalances.
    pub imbalance_task: u32,
    /// Sum of misfit task imbalances.
    pub imbalance_misfit: u32,
    /// Tasks moved to this CPU.
    pub gained: u32,
    /// Those with a warm cache.
    pub hot_gained: u32,
    /// Attempts that found no busier queue.
    pub nobusyq: u32,
    /// Attempts that found no busier group.
    pub nobusyg: u32,
}

/// Descriptor of SCHEDSTAT_CPU.
pub const SCHEDSTAT_CPU: RecordDescriptor = RecordDescriptor::event(RecordType::SCHEDSTAT_CPU, (7, 0), 24);

/// Descriptor of SCHEDSTAT_DOMAIN.
pub const SCHEDSTAT_DOMAIN: RecordDescriptor = RecordDescriptor::event(RecordType::SCHEDSTAT_DOMAIN, (7, 0), 24);

roles! { SchedstatCpu { timestamp: time, cpu: number, version: number, pad: opaque, counts: number } }

roles! { SchedstatDomain { timestamp: time, cpu: number, version: number, domain: number, counts: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::{both_orders, hex};
    use crate::abi::{self, Endian};

    /// The numbers from `first` on, in both byte orders.
    fn numbers(first: u32, count: u32) -> [String; 2] {
        let all = |endian: fn(u32) -> u32| (first..first + count).map(|n| format!("{:08x} ", endian(n))).collect();
        [all(u32::swap_bytes), all(|n| n)]
    }

    #[test]
    fn bytes_of_a_cpu() {
        let counts = CpuCounts {
            yld_count: 1,
            array_exp: 2,
            sched_count: 3,
            sched_goidle: 4,
            ttwu_count: 5,
            ttwu_local: 6,
            rq_cpu_time: 7,
            run_delay: 8,
            pcount: 9,
        };
        let [little, big] = numbers(1, 6);
        both_orders(
            &SchedstatCpu { timestamp: 0x10, cpu: 3, version: 17, pad: 0, counts: Some(counts) },
            (),
            &format!("1000000000000000 03000000 1100 0000 {little} 0700000000000000 0800000000000000 0900000000000000"),
            &format!("0000000000000010 00000003 0011 0000 {big} 0000000000000007 0000000000000008 0000000000000009"),
        );
    }

    #[test]
    fn bytes_of_a_domain_in_each_version() {
        let old = |first| LoadBalance {
            count: first,
            balanced: first + 1,
            failed: first + 2,
            imbalance: first + 3,
            gained: first + 4,
            hot_gained: first + 5,
            nobusyq: first + 6,
            nobusyg: first + 7,
        };
        let new = |first| LoadBalance17 {
            count: first,
            balanced: first + 1,
            failed: first + 2,
            imbalance_load: first + 3,
            imbalance_util: first + 4,
            imbalance_task: first + 5,
            imbalance_misfit: first + 6,
            gained: first + 7,
            hot_gained: first + 8,
            nobusyq: first + 9,
            nobusyg: first + 10,
        };
        let check = |version: u16, balance, next: u32| {
            let counts = DomainCounts {
                balance,
                alb_count: next,
                alb_failed: next + 1,
                alb_pushed: next + 2,
                sbe_count: next + 3,
                sbe_balanced: next + 4,
                sbe_pushed: next + 5,
                sbf_count: next + 6,
                sbf_balanced: next + 7,
                sbf_pushed: next + 8,
                ttwu_wake_remote: next + 9,
                ttwu_move_affine: next + 10,
                ttwu_move_balance: next + 11,
            };
            let [little, big] = numbers(1, next + 11);
            both_orders(
                &SchedstatDomain { timestamp: 0x10, cpu: 3, version, domain: 2, counts: Some(counts) },
                (),
                &format!("1000000000000000 03000000 {version:02x}00 0200 {little}"),
                &format!("0000000000000010 00000003 00{version:02x} 0002 {big}"),
            );
        };
        check(15, Balance::V15 { idle: old(1), busy: old(9), newidle: old(17) }, 25);
        check(16, Balance::V16 { busy: old(1), idle: old(9), newidle: old(17) }, 25);
        check(17, Balance::V17 { busy: new(1), idle: new(12), newidle: new(23) }, 34);
    }

    #[test]
    fn counts_of_an_unknown_version_are_left_to_the_caller() {
        let bytes = hex("1000000000000000 03000000 1200 0200 01020304");
        let (cpu, used): (SchedstatCpu, usize) = abi::parse(&bytes, Endian::Little, ()).unwrap();
        assert_eq!((cpu.counts, used), (None, 16));
        let (domain, used): (SchedstatDomain, usize) = abi::parse(&bytes, Endian::Little, ()).unwrap();
        assert_eq!((domain.counts, used), (None, 16));
    }
}
