//! The table of all passes that a command line can request.

use crate::rewrite::anonymize::options::ANONYMIZE;
use crate::rewrite::build_ids::maps::BuildIdMaps;
use crate::rewrite::build_ids::table::BuildIdTable;
use crate::rewrite::embedded_symbols::{EmbedSymbols, StripSymbols};
use crate::rewrite::filter::comm::Comm;
use crate::rewrite::filter::cpu::Cpu;
use crate::rewrite::filter::dso::Dso;
use crate::rewrite::filter::event::Event;
use crate::rewrite::filter::head::Head;
use crate::rewrite::filter::kind::RecordTypes;
use crate::rewrite::filter::sample_every::SampleEvery;
use crate::rewrite::filter::task::{Pid, Tid};
use crate::rewrite::filter::time::Time;
use crate::rewrite::framework::pass_type::{PassType, Setting};
use crate::rewrite::header::edits;
use crate::rewrite::itrace::{Itrace, NoItrace};
use crate::rewrite::jit::pass::Jit;
use crate::rewrite::jit::perf_map::PerfMap;
use crate::rewrite::perf_version::ForPerfVersion;
use crate::rewrite::quipper;
use crate::rewrite::sched_stat::SchedStat;
use crate::rewrite::sort::Sort;
use crate::rewrite::strip_user_stack::StripUserStack;
use crate::rewrite::unwind::Unwind;

/// Tables of passes, each with the heading under which help shows their arguments.
pub type PassTable<'a> = &'a [(&'static str, &'a [PassType])];

/// Heading of the options that select records.
pub const FILTERS: &str = "Filters";
/// Heading of the options that change records and features.
pub const REWRITING: &str = "Rewriting";
/// Heading of the options for hardware traces.
pub const TRACES: &str = "Hardware traces";
/// Heading of the options for code compiled at run time.
pub const JIT: &str = "JIT code";
/// Heading of the options for build IDs.
pub const BUILD_IDS: &str = "Build IDs";
/// Heading of the options that anonymize.
pub const ANONYMIZING: &str = "Anonymizing";

/// All passes, in the order in which they are listed to users. A pass is registered here and nowhere else.
pub const PASSES: PassTable<'static> = &[
    (
        FILTERS,
        &[
            PassType::with_options::<Event>("event").for_records(&["keep_attrs"]),
            PassType::with_options::<Comm>("comm"),
            PassType::with_options::<Time>("time"),
            PassType::with_options::<Pid>("pid"),
            PassType::with_options::<Tid>("tid"),
            PassType::with_options::<Cpu>("cpu"),
            PassType::with_options::<Dso>("dso"),
            PassType::with_options::<RecordTypes>("type").for_records(&["type"]),
            PassType::with_options::<SampleEvery>("sample_every"),
            PassType::with_options::<Head>("head"),
        ],
    ),
    (
        REWRITING,
        &[
            PassType::flagged::<Sort>("sort", "Sort the records of the whole recording by time").for_records(&["sort"]),
            edits::SET,
            edits::ADD_FEATURE,
            edits::DROP_FEATURE,
            PassType::with_options::<ForPerfVersion>("perf_version").for_records(&["perf_version"]),
            PassType::flagged::<StripUserStack>(
                "strip-user-stack",
                "Remove user stack dumps and user registers from samples",
            )
            .for_records(&["strip-user-stack"]),
            PassType::flagged::<Unwind>(
                "unwind",
                "Replace user stack dumps and user registers with unwound call chains",
            )
            .for_records(&["unwind", "keep_user_stack"]),
            PassType::with_options::<EmbedSymbols>("embed_symbols").for_records(&["embed_symbols"]),
            PassType::flagged::<StripSymbols>("strip-symbols", "Remove the names of functions stored in the recording")
                .for_records(&["strip-symbols"]),
            SCHED_STAT,
            quipper::PASS,
        ],
    ),
    (TRACES, &[PassType::with_options::<Itrace>("itrace").for_records(&["strip"]), NO_ITRACE]),
    (JIT, &[JIT_DUMPS, PassType::with_options::<PerfMap>("perf_map")]),
    (BUILD_IDS, &[BuildIdTable::HIT, BuildIdTable::ALL, BuildIdMaps::HIT, BuildIdMaps::ALL]),
    (ANONYMIZING, &[ANONYMIZE]),
];

/// `--no-itrace`.
const NO_ITRACE: PassType = PassType::flagged::<NoItrace>(
    "no-itrace",
    "Do not decode hardware traces; by default, those of Arm SPE become samples",
);

/// `--sched-stat`.
pub const SCHED_STAT: PassType = PassType::flagged::<SchedStat>(
    "sched-stat",
    "Merge sched_stat and sched_switch samples to show where and how long tasks slept, as perf inject does",
);

/// `--jit`.
pub const JIT_DUMPS: PassType = PassType::flagged::<Jit>(
    "jit",
    "Add symbols of JIT-compiled functions from jitdumps: write their code to ELF images and map these in the recording",
)
.short('j');

/// The arguments that request passes with a build ID search.
const BUILD_ID_PASSES: &[&str] = &["build-ids", "buildid-all", "mmap2-buildids", "mmap2-buildid-all"];

/// The arguments whose passes read the files of the recorded machine.
const READING_FILES: &[&str] =
    &["build-ids", "buildid-all", "mmap2-buildids", "mmap2-buildid-all", "unwind", "embed_symbols"];

/// The arguments that refine passes, and need one of them.
pub const SETTINGS: &[Setting] = &[
    Setting { id: "keep_attrs", passes: &["event"], is_for_symbols: false },
    Setting { id: "keep_user_stack", passes: &["unwind"], is_for_symbols: false },
    Setting { id: "strip", passes: &["itrace"], is_for_symbols: false },
    Setting { id: "jit_dump", passes: &["jit"], is_for_symbols: false },
    Setting { id: "jit_dir", passes: &["jit", "perf_map"], is_for_symbols: false },
    Setting { id: "known_build_ids", passes: BUILD_ID_PASSES, is_for_symbols: false },
    Setting { id: "symfs", passes: READING_FILES, is_for_symbols: true },
    Setting { id: "buildid_dir", passes: READING_FILES, is_for_symbols: true },
    Setting { id: "keep", passes: &["anonymize"], is_for_symbols: false },
    Setting { id: "replace", passes: &["anonymize"], is_for_symbols: false },
    Setting { id: "key", passes: &["anonymize"], is_for_symbols: false },
];
