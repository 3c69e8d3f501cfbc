//! Tests of the program that need nothing but Rust, a C compiler and a POSIX shell: real recordings as inputs; exit status, ledger,
//! warnings and outputs as results.

#[macro_use]
#[allow(dead_code, reason = "each test target uses a part")]
mod common;

mod suite {
    mod access;
    mod anonymize;
    mod archive;
    mod bad_input;
    mod batch;
    mod build_ids;
    mod callgrind;
    mod check;
    mod chrome;
    mod cli;
    mod code_maps;
    mod compat;
    mod csv;
    mod descriptors;
    mod diff;
    mod docs;
    mod dump;
    mod edited_proto;
    mod embedded_lines;
    mod embedded_parts;
    mod embedded_symbols;
    mod endian;
    mod faults;
    mod filters;
    mod firefox;
    mod folded;
    mod fuzz_corpus;
    mod groups;
    mod hardware_traces;

    mod header_edits;
    mod help;
    mod hiperf;
    mod hostile;
    mod html;
    mod imported_profiles;
    mod imports;
    mod info;
    mod input_errors;
    mod interrupted;
    mod jit;
    mod json;
    mod json_edits;
    mod json_schema;
    mod known_parser_bugs;
    mod ledger;
    mod library_commands;
    mod library_outputs;
    mod link_register;
    mod linux_perf_data;
    mod main_mapping;
    mod manual;
    mod mappings;
    mod mcp;
    mod memory;
    mod memory_accesses;
    mod merge;
    mod merged_events;
    mod misframed;
    mod modules;
    mod off_cpu;
    mod otlp_import;
    mod passes;
    mod paths;
    #[cfg(unix)]
    mod perf_commands;
    mod perf_json;
    mod perf_report;
    mod perf_script_import;
    mod perf_script_symbols;
    mod perf_script_text;
    mod perf_stat;
    mod perf_version;
    mod pprof;
    mod profiler_imports;
    mod profiles;
    mod progress;
    #[cfg(feature = "push")]
    mod push;
    mod quipper;
    mod ratios;
    mod recognition;
    mod repair;
    mod report_diff;
    mod report_json;
    mod report_tree;
    mod reports;
    mod rewrite;
    mod rewrite_unwind;
    mod samples;
    mod scenarios;
    mod secrets;
    mod shells;
    mod short_names;
    mod signals;
    mod spans;
    mod speedscope;
    mod split;
    mod symbol_bad_input;
    mod symbol_outputs;
    mod symbol_sources;
    mod symbols;
    #[cfg(feature = "parquet")]
    mod tables;
    mod threads;
    mod tracepoint_text;
    mod tracepoints;
    mod unknown_layouts;
    mod unmapped;
    mod unwind;
    mod unwind_architectures;
    mod unwind_framehop;
    mod unwind_outputs;
    mod unwind_witness;
    mod view_limits;
    mod viewers;
    mod waits;
}
