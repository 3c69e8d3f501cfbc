//! The program as its users meet it: real recordings in; exit status, ledger, warnings and output out.

mod suite {
    mod anonymize;
    mod archive;
    mod bad_input;
    mod build_ids;
    mod changed_proto;
    mod check;
    mod cli;
    mod compat;
    mod consumers;
    mod csv;
    mod diff;
    mod dump;
    mod endian;
    mod faults;
    mod files;
    mod filters;
    mod forms;
    mod fuzz_corpus;
    mod goldens;
    mod header_edits;
    mod info;
    mod jit;
    mod json;
    mod json_fits;
    mod ledger;
    mod merge;
    mod passes;
    mod peers_bugs;
    mod perf_json;
    mod perf_version;
    mod pprof;
    mod profiles;
    mod program;
    mod quipper;
    mod readme;
    mod repair;
    mod rewrite;
    mod samples;
    mod scripts;
    mod split;
    mod stacks;
    mod tracepoints;
    mod values;
    mod walk;
}
