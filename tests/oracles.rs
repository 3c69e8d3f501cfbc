//! Comparisons with other programs: perf, pprof, hotspot, LLVM, binutils, valgrind, protoc and others, and with their recorded outputs.
//!
//! A program that is missing is skipped with a message, or a failure if `PERFCONV_REQUIRE_ORACLES=1`.

#[macro_use]
#[allow(dead_code, reason = "each test target uses a part")]
mod common;

mod oracles {
    mod annotate;
    mod anonymize;
    mod archive;
    mod arm_spe;
    mod branch_profiles;
    mod branch_rebuild;
    mod branch_text;
    mod build_ids;
    mod callgrind;
    mod compat;
    mod consumers;
    mod conversions;
    mod disassembly;
    mod embedded_symbols;
    mod endian;
    mod filters;
    mod folded;
    mod github_action;
    mod goldens;
    mod header_edits;
    mod ibs;
    mod imports;
    mod info;
    mod jit;
    mod json;
    mod kernel_modules;
    mod main_mapping;
    mod memory_accesses;
    mod merge;
    mod passes;
    mod perf_commands;
    mod perf_features;
    mod perf_json;
    mod perf_programs;
    mod perf_report_branches;
    mod perf_script_symbols;
    mod perf_script_text;
    mod perf_stat;
    mod perf_version;
    mod pprof;
    mod profiles;
    mod quipper;
    mod ratios;
    mod repair;
    mod reports;
    mod rewrite;
    mod rewrite_unwind;
    mod sample_counts;
    mod samples;
    mod scenarios;
    mod scheduling;
    mod sort_keys;
    mod split;
    mod stack_readers;
    mod stacks;
    mod symbol_outputs;
    mod symbol_programs;
    mod symbol_sources;
    mod symbolizers;
    mod symbols;
    mod syscalls;
    mod tracepoint_text;
    mod tracepoints;
    mod unwind_hotspot;
    mod unwind_perf;
}
