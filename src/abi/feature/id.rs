//! Which features there are.

use crate::open_enum;

open_enum! {
    /// Which feature: its bit in the header, and `feat_id` in a pipe.
    FeatureId: u32 {
        /// Formats of tracepoints.
        TRACING_DATA = 1,
        /// Build ids of files.
        BUILD_ID = 2,
        /// Name of the host.
        HOSTNAME = 3,
        /// Release of the kernel.
        OSRELEASE = 4,
        /// Version of perf.
        VERSION = 5,
        /// Machine as `uname -m` tells it.
        ARCH = 6,
        /// Numbers of CPUs.
        NRCPUS = 7,
        /// Name of the CPU.
        CPUDESC = 8,
        /// The CPU's own identification.
        CPUID = 9,
        /// Memory in kB.
        TOTAL_MEM = 10,
        /// Command line of perf.
        CMDLINE = 11,
        /// The events with their names and ids.
        EVENT_DESC = 12,
        /// Cores, threads, dies.
        CPU_TOPOLOGY = 13,
        /// Memory nodes.
        NUMA_TOPOLOGY = 14,
        /// There are branch stacks.
        BRANCH_STACK = 15,
        /// Names of the PMUs' numbers.
        PMU_MAPPINGS = 16,
        /// Groups of events.
        GROUP_DESC = 17,
        /// Where the AUXTRACE records are.
        AUXTRACE = 18,
        /// It is a recording of `perf stat`.
        STAT = 19,
        /// Caches.
        CACHE = 20,
        /// Times of the first and the last sample.
        SAMPLE_TIME = 21,
        /// Memory blocks.
        MEM_TOPOLOGY = 22,
        /// Resolution of the clock.
        CLOCKID = 23,
        /// Version of the directory format.
        DIR_FORMAT = 24,
        /// BPF programs.
        BPF_PROG_INFO = 25,
        /// BPF type information.
        BPF_BTF = 26,
        /// How records are compressed.
        COMPRESSED = 27,
        /// Capabilities of the CPU's PMU.
        CPU_PMU_CAPS = 28,
        /// The recording's clock and the wall clock at one moment.
        CLOCK_DATA = 29,
        /// CPUs of each of several core PMUs.
        HYBRID_TOPOLOGY = 30,
        /// Capabilities of several PMUs.
        PMU_CAPS = 31,
        /// Scheduling domains.
        CPU_DOMAIN_INFO = 32,
        /// ELF machine.
        E_MACHINE = 33,
        /// Size of a cache line.
        CLN_SIZE = 34,
    }
}
