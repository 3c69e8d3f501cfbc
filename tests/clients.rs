//! Programs that read outputs of perfconv: browsers, speedscope, the Firefox Profiler, query engines, protobuf libraries, shells,
//! terminals and formatters of manual pages.
//!
//! A program that is missing is skipped with a message, or a failure if `PERFCONV_REQUIRE_ORACLES=1`.

#[macro_use]
#[allow(dead_code, reason = "each test target uses a part")]
mod common;

mod clients {
    mod browser;
    mod chrome;
    mod docs;
    mod firefox;
    mod html;
    mod html_code;
    mod html_groups;
    mod html_input;
    mod html_measures;
    mod html_page;
    mod html_tracks;
    mod manual;
    mod mcp;
    mod otlp;
    mod perf_replaced;
    mod perf_script_clients;
    mod perfetto;
    mod programs;
    mod progress;
    #[cfg(feature = "push")]
    mod push;
    #[cfg(feature = "parquet")]
    mod python;
    mod shells;
    mod speedscope;
    #[cfg(feature = "parquet")]
    mod tables;
    mod terminal;
    mod view_limits;
}
