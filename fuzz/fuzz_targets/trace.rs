#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| perfconv_fuzz::trace(bytes));
