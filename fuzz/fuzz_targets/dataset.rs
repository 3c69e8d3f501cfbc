#![no_main]

use std::panic::{set_hook, take_hook};

/// The crates of Parquet and Arrow panic on damaged files. What the library catches is no finding; the hook of libFuzzer would abort.
fn ignore_caught_panics() {
    let abort = take_hook();
    set_hook(Box::new(move |panic| {
        if !perf_data::threads::is_caught() {
            abort(panic);
        }
    }));
}

libfuzzer_sys::fuzz_target!(init: ignore_caught_panics(), |bytes: &[u8]| perfconv_fuzz::dataset(bytes));
