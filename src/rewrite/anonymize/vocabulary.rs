//! Words of perf, the kernel and the hardware that are common to all machines, and are kept.
//!
//! All other words are replaced. A word is listed if any recording may contain it, and if perf's interpretation of a recording
//! depends on it or it is needed to determine what was measured. Names of programs, libraries, kernel modules, distributions and
//! vendor events are not listed, however common they are.

/// Names of mappings without a file, which identify their type.
pub const MAPS: &[&str] = &[
    "//anon",
    "//enomem",
    "//toolong",
    "/anon_hugepage",
    "/dev/zero",
    "[heap]",
    "[hypervisor]",
    "[kernel.kallsyms]",
    "[kernel.kallsyms]_stext",
    "[kernel.kallsyms]_text",
    "[kernel.vmlinux]",
    "[kernel]",
    "[sigpage]",
    "[stack]",
    "[uprobes]",
    "[vdso]",
    "[vectors]",
    "[vsyscall]",
    "[vvar]",
    "[vvar_vclock]",
    "anon_inode:[perf_event]",
    "__entry_SYSCALL_64_trampoline",
];

/// Prefixes of kernel-defined mapping names that are followed by another name.
pub const MAP_STARTS: &[&str] = &["/memfd:", "/SYSV", "[anon:", "[stack:", "anon_inode:", "[guest.kernel.kallsyms"];

/// Suffixes of file names that identify their type.
pub const FILE_ENDS: &[&str] = &[".so", ".ko", ".ko.gz", ".ko.xz", ".ko.zst"];

/// Suffix of the name of a deleted file.
pub const DELETED: &str = " (deleted)";

/// Thread names.
pub const COMMS: &[&str] = &["perf", "perf-exec", "perf-ex", "swapper"];

/// Names of kernel symbols registered at run time.
pub const SYMBOLS: &[&str] = &["ftrace_trampoline", "kprobe_insn_page", "kprobe_optinsn_page"];

/// Prefixes of kernel symbols that are followed by another name.
pub const SYMBOL_STARTS: &[&str] = &["bpf_dispatcher_", "bpf_prog_", "bpf_trampoline_"];

/// Event names, and parts of them.
pub const EVENTS: &[&str] = &[
    "alignment-faults",
    "bpf-output",
    "branch-instructions",
    "branch-misses",
    "branches",
    "bus-cycles",
    "cache-misses",
    "cache-references",
    "cgroup-switches",
    "context-switches",
    "cpu-clock",
    "cpu-clock-ticks",
    "cpu-cycles",
    "cpu-migrations",
    "cs",
    "cycles",
    "dummy",
    "emulation-faults",
    "faults",
    "idle-cycles-backend",
    "idle-cycles-frontend",
    "instructions",
    "major-faults",
    "mem-loads",
    "mem-loads-aux",
    "mem-stores",
    "migrations",
    "minor-faults",
    "offcpu-time",
    "page-faults",
    "ref-cycles",
    "slots",
    "stalled-cycles-backend",
    "stalled-cycles-frontend",
    "task-clock",
    "topdown-bad-spec",
    "topdown-be-bound",
    "topdown-fe-bound",
    "topdown-retiring",
];

/// Caches in names of cache events, such as `L1-dcache-load-misses`.
pub const CACHES: &[&str] = &["L1-dcache", "L1-icache", "LLC", "branch", "dTLB", "iTLB", "node"];

/// Operations in names of cache events.
pub const CACHE_EVENTS: &[&str] =
    &["load-misses", "loads", "misses", "prefetch-misses", "prefetches", "store-misses", "stores"];

/// Names of unnamed events and groups.
pub const UNNAMED: &[&str] = &["unknown", "raw", "breakpoint", "{anon_group}"];

/// PMUs; several of a kind have a number suffix.
pub const PMUS: &[&str] = &[
    "amd_df",
    "amd_iommu",
    "amd_l3",
    "amd_umc",
    "armv8_cortex_a",
    "armv8_pmuv3",
    "arm_spe",
    "breakpoint",
    "cpu",
    "cpu_atom",
    "cpu_core",
    "cpum_cf",
    "cpum_cf_diag",
    "cpum_sf",
    "cs_etm",
    "cstate_core",
    "cstate_pkg",
    "hisi_ptt",
    "hv_24x7",
    "hv_gpci",
    "ibs_fetch",
    "ibs_op",
    "intel_bts",
    "intel_pt",
    "kprobe",
    "msr",
    "nest_imc",
    "pai_crypto",
    "pai_ext",
    "power",
    "software",
    "tracepoint",
    "uncore_arb",
    "uncore_cbox",
    "uncore_cha",
    "uncore_clock",
    "uncore_iio",
    "uncore_imc",
    "uncore_imc_free_running",
    "uncore_irp",
    "uncore_m2m",
    "uncore_m2pcie",
    "uncore_m3upi",
    "uncore_pcu",
    "uncore_ubox",
    "uncore_upi",
    "uprobe",
];

/// Prefixes of PMUs that name the CPU model.
pub const MODELS: &[&str] = &["armv8_cortex_"];

/// Terms of PMU events: `cpu/event=0x3c,umask=0/`.
pub const TERMS: &[&str] = &[
    "aux-output",
    "any",
    "branch_type",
    "call-graph",
    "cmask",
    "config",
    "config1",
    "config2",
    "edge",
    "event",
    "filter",
    "freq",
    "frontend",
    "in_tx",
    "in_tx_cp",
    "inherit",
    "inv",
    "ldlat",
    "max-stack",
    "name",
    "no-inherit",
    "no-overwrite",
    "offcore_rsp",
    "overwrite",
    "pc",
    "percore",
    "period",
    "pt",
    "ptw",
    "stack-size",
    "time",
    "tsc",
    "mtc",
    "noretcomp",
    "umask",
];

/// Subsystems of the kernel's own tracepoints.
pub const SYSTEMS: &[&str] = &[
    "alarmtimer",
    "amd_cpu",
    "asoc",
    "avc",
    "block",
    "bpf_test_run",
    "bpf_trace",
    "bridge",
    "btrfs",
    "cgroup",
    "clk",
    "cma",
    "compaction",
    "context_tracking",
    "cpuhp",
    "csd",
    "damon",
    "dev",
    "devfreq",
    "devlink",
    "dma_fence",
    "drm",
    "error_report",
    "exceptions",
    "ext4",
    "fib",
    "fib6",
    "filelock",
    "filemap",
    "fs_dax",
    "ftrace",
    "gpio",
    "huge_memory",
    "hwmon",
    "hyperv",
    "i2c",
    "initcall",
    "io_uring",
    "iocost",
    "iomap",
    "iommu",
    "ipi",
    "irq",
    "irq_matrix",
    "irq_vectors",
    "jbd2",
    "kmem",
    "ksm",
    "kvm",
    "kvmmmu",
    "kyber",
    "lock",
    "maple_tree",
    "mce",
    "mdio",
    "migrate",
    "mmap",
    "mmap_lock",
    "mmc",
    "module",
    "mptcp",
    "msr",
    "napi",
    "neigh",
    "net",
    "netlink",
    "nfs",
    "nfsd",
    "nmi",
    "nvme",
    "oom",
    "osnoise",
    "page_isolation",
    "page_pool",
    "pagemap",
    "percpu",
    "power",
    "printk",
    "pwm",
    "qdisc",
    "ras",
    "raw_syscalls",
    "rcu",
    "regmap",
    "regulator",
    "resctrl",
    "rpm",
    "rseq",
    "rtc",
    "sched",
    "scsi",
    "signal",
    "skb",
    "smbus",
    "sock",
    "spi",
    "swiotlb",
    "sync_trace",
    "syscalls",
    "task",
    "tcp",
    "thermal",
    "thp",
    "timer",
    "timer_migration",
    "tlb",
    "tls",
    "udp",
    "vmalloc",
    "vmscan",
    "vsyscall",
    "wbt",
    "workqueue",
    "writeback",
    "x86_fpu",
    "xdp",
    "xen",
    "xfs",
    "xhci-hcd",
];

/// perf commands that record.
pub const COMMANDS: &[&str] =
    &["c2c", "inject", "kmem", "lock", "mem", "record", "sched", "stat", "timechart", "top", "trace"];

/// Options without a value, or with one after `=`.
pub const FLAGS: &[&str] = &[
    "--aio",
    "--all-cgroups",
    "--all-cpus",
    "--all-kernel",
    "--all-user",
    "--branch-any",
    "--buildid-all",
    "--buildid-mmap",
    "--code-page-size",
    "--compression-level",
    "--data",
    "--data-page-size",
    "--exclude-perf",
    "--group",
    "--inherit",
    "--intr-regs",
    "--kcore",
    "--kernel-callchains",
    "--namespaces",
    "--no-bpf-event",
    "--no-buildid",
    "--no-buildid-cache",
    "--no-inherit",
    "--no-samples",
    "--off-cpu",
    "--overwrite",
    "--page",
    "--per-thread",
    "--period",
    "--phys-data",
    "--quiet",
    "--raw-samples",
    "--running-time",
    "--sample-cpu",
    "--sample-identifier",
    "--slab",
    "--strict-freq",
    "--switch-events",
    "--switch-output",
    "--synth",
    "--tail-synthesize",
    "--threads",
    "--timestamp",
    "--timestamp-boundary",
    "--transaction",
    "--user-callchains",
    "--user-regs",
    "--verbose",
    "--weight",
    "-A",
    "-B",
    "-I",
    "-N",
    "-P",
    "-R",
    "-S",
    "-T",
    "-W",
    "-a",
    "-b",
    "-d",
    "-g",
    "-i",
    "-n",
    "-q",
    "-s",
    "-v",
    "-w",
    "-z",
];

/// Options whose value is a number or one of [`VALUES`].
pub const PLAIN_OPTIONS: &[&str] = &[
    "--affinity",
    "--branch-filter",
    "--call-graph",
    "--clockid",
    "--count",
    "--cpu",
    "--delay",
    "--freq",
    "--max-size",
    "--mmap-pages",
    "--realtime",
    "-C",
    "-D",
    "-F",
    "-c",
    "-j",
    "-k",
    "-m",
    "-r",
];

/// Options whose values are events.
pub const EVENT_OPTIONS: &[&str] = &["--event", "-e"];

/// Options whose values are process or thread IDs; for `perf mem`, what it samples.
pub const PID_OPTIONS: &[&str] = &["--pid", "--tid", "-p", "-t"];

/// Options whose values are identifying: file names, cgroups, users and the like.
pub const IDENTIFYING_OPTIONS: &[&str] =
    &["--cgroup", "--control", "--filter", "--output", "--uid", "-G", "-M", "-o", "-u"];

/// Option values.
pub const VALUES: &[&str] = &[
    "CLOCK_BOOTTIME",
    "CLOCK_MONOTONIC",
    "CLOCK_MONOTONIC_RAW",
    "CLOCK_REALTIME",
    "CLOCK_TAI",
    "any",
    "any_call",
    "any_ret",
    "boottime",
    "call",
    "cond",
    "cpu",
    "dwarf",
    "fp",
    "hv",
    "in_tx",
    "ind_call",
    "ind_jmp",
    "k",
    "lbr",
    "load",
    "max",
    "mono",
    "monotonic",
    "monotonic_raw",
    "no_tx",
    "node",
    "realtime",
    "store",
    "sys",
    "tai",
    "u",
];

/// Units of events.
pub const UNITS: &[&str] = &[
    "%", "Bytes", "GB", "GB/s", "GHz", "J", "Joules", "KiB", "MB", "MiB", "Watts", "bits", "bytes", "ms", "msec", "ns",
    "sec", "us",
];

/// Machine names of uname(2).
pub const ARCHES: &[&str] = &[
    "aarch64",
    "alpha",
    "armv5tel",
    "armv6l",
    "armv7l",
    "armv8l",
    "i386",
    "i486",
    "i586",
    "i686",
    "loongarch64",
    "m68k",
    "mips",
    "mips64",
    "parisc",
    "parisc64",
    "ppc",
    "ppc64",
    "ppc64le",
    "riscv32",
    "riscv64",
    "s390",
    "s390x",
    "sh4",
    "sparc",
    "sparc64",
    "x86_64",
    "xtensa",
];

/// Cache types, scheduler domains and other topology terms.
pub const TOPOLOGY: &[&str] =
    &["Data", "Instruction", "Unified", "BOOK", "CLS", "CLUSTER", "DIE", "DRAWER", "MC", "NODE", "NUMA", "PKG", "SMT"];

/// Whether a word is in a list.
pub fn has(list: &[&str], word: &[u8]) -> bool {
    list.iter().any(|other| other.as_bytes() == word)
}

/// Maximum number of digits in a PMU's number.
const MAX_DIGITS: usize = 4;

/// Whether a word is in a list, with or without a number suffix (`NUMBER` or `_NUMBER`).
pub fn has_numbered(list: &[&str], word: &[u8]) -> bool {
    let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let name = &word[..word.len() - digits];
    has(list, word)
        || (1..=MAX_DIGITS).contains(&digits)
            && (has(list, name) || name.strip_suffix(b"_").is_some_and(|name| has(list, name)))
}

/// Whether this is the name of a cache event.
pub fn is_cache_event(word: &[u8]) -> bool {
    CACHES.iter().any(|cache| {
        let event = word.strip_prefix(cache.as_bytes()).and_then(|rest| rest.strip_prefix(b"-"));
        event.is_some_and(|event| has(CACHE_EVENTS, event))
    })
}

/// Whether a part of a name names the CPU model.
pub fn names_model(name: &[u8]) -> bool {
    name.split(|byte| b"/,:{".contains(byte)).any(|part| MODELS.iter().any(|model| part.starts_with(model.as_bytes())))
}
