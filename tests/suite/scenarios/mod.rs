//! Scenarios, the inputs of `perfconv synth`.

mod coverage;
mod invalid;
mod options;
mod readers;
