//! Options: what a report shows.

#[cfg(feature = "cli")]
use super::bounded;
use super::growth_limits::GrowthLimits;
#[cfg(feature = "cli")]
use crate::option_values::{number_in, percent};
use crate::profile::time_quantum::TimeQuantum;
use crate::report::function_tree::TreeDirection;
use crate::report::source_files::SourceDirectory;

/// Which functions a report shows, and how.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Contents {
    /// Sort by the samples in each function itself, without those in what it calls.
    #[cfg_attr(feature = "cli", arg(long))]
    pub no_children: bool,

    /// Omit entries below this share of the event.
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERCENT", value_parser = percent))]
    pub percent_limit: Option<f64>,

    /// List only functions whose name matches this regular expression.
    #[cfg_attr(feature = "cli", arg(long, value_name = "REGEX", conflicts_with_all = ["callers", "callees", "symbol", "lines", "list", "tree"]))]
    pub search: Option<String>,

    /// Print at most N entries of each list [default of text: 1000].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", value_parser = number_in::<u32>(1, i32::MAX as u32)))]
    pub limit: Option<u32>,

    /// Print the callers of a function: its name, a part that only it has, or a regular expression.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub callers: Option<String>,

    /// Print the functions that a function, named as for --callers, calls.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub callees: Option<String>,

    /// Print the callers and callees of a function, named as for --callers.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", conflicts_with_all = ["callers", "callees"]))]
    pub symbol: Option<String>,

    /// Print the source lines of a function, named as for --callers, with their samples.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME", conflicts_with_all = ["callers", "callees", "symbol"]))]
    pub lines: Option<String>,

    /// Print the source lines of each function that the name, as for --callers, selects, those with the most samples first.
    #[cfg_attr(feature = "cli", arg(long, value_name = "REGEX", conflicts_with_all = ["callers", "callees", "symbol", "lines"]))]
    pub list: Option<String>,

    /// Directory with source files, for their recorded directory FROM or for any; may be repeated.
    #[cfg_attr(feature = "cli", arg(long, value_name = "[FROM=]DIR", value_parser = SourceDirectory::existing))]
    pub source_dir: Vec<SourceDirectory>,

    /// Do not read source files; print numbers of lines only.
    #[cfg_attr(feature = "cli", arg(long))]
    pub no_source: bool,

    /// Print the tree of calls: callees from the roots of the stacks, or callers from the functions with the most samples. By
    /// default, calls below 0.5 % of the event are omitted.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_enum,
            value_name = "DIRECTION",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "callees",
            conflicts_with_all = ["callers", "callees", "symbol", "lines", "list", "no_children"]
        )
    )]
    pub tree: Option<TreeDirection>,

    /// Draw the tree of calls in ASCII [default: if the locale is not UTF-8].
    #[cfg_attr(feature = "cli", arg(long, requires = "tree"))]
    pub ascii: bool,

    /// With an earlier recording, how much may have grown.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub growth: GrowthLimits,

    /// Print memory accesses by latency, level, function and data, as perf mem report. A sample is worth its latency.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            conflicts_with_all = [
                "callers", "callees", "symbol", "lines", "list", "tree", "sched", "ratio", "off_cpu", "weight", "span"
            ]
        )
    )]
    pub mem: bool,

    /// Print the cache lines that CPUs share, with loads, stores and transfers of modified lines by offset, function and thread, as
    /// perf c2c.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            conflicts_with_all = [
                "callers", "callees", "symbol", "lines", "list", "tree", "mem", "branch_stack", "sched", "syscalls", "ratio",
                "no_children", "percent_limit", "search", "off_cpu", "weight", "span", "sort"
            ]
        )
    )]
    pub c2c: bool,

    /// Print the branches of branch stacks by source, target and cycles, as perf report --branch-stack. Sort keys such as
    /// symbol_from imply it.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            conflicts_with_all = [
                "callers", "callees", "symbol", "lines", "list", "tree", "mem", "sched", "ratio", "off_cpu", "weight", "span"
            ]
        )
    )]
    pub branch_stack: bool,

    /// Print how threads were scheduled instead of functions: time on and off the CPU, delays, and who woke whom.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            conflicts_with_all = [
                "callers", "callees", "symbol", "lines", "list", "tree", "no_children", "percent_limit", "search", "off_cpu",
                "weight", "span"
            ]
        )
    )]
    pub sched: bool,

    /// Print the system calls of each thread instead of functions: how often, how many failed, and how long they took.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            conflicts_with_all = [
                "callers", "callees", "symbol", "lines", "list", "tree", "no_children", "percent_limit", "search", "off_cpu",
                "weight", "span", "sched", "ratio", "mem", "sort"
            ]
        )
    )]
    pub syscalls: bool,

    /// Print the ratio of two events, such as instructions/cycles or cache-misses/instructions*1000; or one of ipc, mpki,
    /// branch-miss-rate, cache-miss-rate, whose events are known.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_name = "A/B[*K]",
            conflicts_with_all = ["callers", "callees", "symbol", "lines", "list", "tree", "sched", "off_cpu", "weight"]
        )
    )]
    pub ratio: Option<String>,

    /// Title of the ratio.
    #[cfg_attr(feature = "cli", arg(long = "as", value_name = "NAME", requires = "ratio"))]
    pub ratio_title: Option<String>,

    /// Sort by the ratio instead of its denominator.
    #[cfg_attr(feature = "cli", arg(long, requires = "ratio"))]
    pub by_ratio: bool,

    /// Interval that the sort key time divides samples by, such as 10ms [default: 100ms].
    #[cfg_attr(feature = "cli", arg(long, value_name = "TIME", requires = "sort"))]
    pub time_quantum: Option<TimeQuantum>,

    /// Print one JSON object.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with = "csv"))]
    pub json: bool,

    /// Print at most so many bytes of JSON, as many entries as fit; the members omitted and next_offset say what follows.
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "N", requires = "json", value_parser = number_in::<u32>(bounded::MIN_BYTES, i32::MAX as u32))
    )]
    pub max_bytes: Option<u32>,

    /// Begin with this entry of each list of JSON [default: 0].
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", requires = "json"))]
    pub offset: Option<u32>,

    /// Print comma-separated values.
    #[cfg_attr(
        feature = "cli",
        arg(long, conflicts_with_all = ["json", "callers", "callees", "symbol", "lines", "list", "tree"])
    )]
    pub csv: bool,
}

impl Contents {
    /// Whether the report lists all functions, which it can compare with those of another recording.
    pub(super) fn shows_functions(&self) -> bool {
        let Self { callers, callees, symbol, lines, list, tree, .. } = self;
        [callers, callees, symbol, lines, list].into_iter().all(Option::is_none)
            && tree.is_none()
            && !self.c2c
            && !self.sched
            && !self.syscalls
            && self.ratio.is_none()
    }
}
