//! Resolves addresses of an object: `symbolize FILE [COUNT]` takes that many addresses of its code and reports how long it takes;
//! `symbolize FILE 0xADDRESS...` prints the functions and lines of these.

use perf_symbols::symbol::find::SearchOptions;
use perf_symbols::symbol::object::Object;
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Resolved, Symbolizer};
use std::env;
use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let path = arguments.next().ok_or("usage: symbolize FILE [COUNT | 0xADDRESS...]")?;
    let path = Path::new(&path).canonicalize()?;
    let rest: Vec<String> = arguments.collect();
    let given = rest.iter().map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let given: Vec<u64> = given.flatten().collect();
    let count = rest.first().and_then(|word| word.parse().ok()).unwrap_or(100_000);
    let addresses = if given.is_empty() { code(&path, count)? } else { given.clone() };
    let mut options = Options::default();
    options.threads = env::var("THREADS").ok().and_then(|threads| threads.parse().ok()).and_then(NonZeroUsize::new);
    let symbolizer = Symbolizer::new(options, SearchOptions::from_system());
    let start = Instant::now();
    let key = ObjectKey { path, ..ObjectKey::default() };
    let len = addresses.len();
    let request = Request::new(key, Addresses::Virtual(addresses));
    let Resolved { symbols, objects } = symbolizer.resolve(std::slice::from_ref(&request));
    let took = start.elapsed();
    if given.is_empty() {
        let frames: usize = (0..len).map(|place| symbols.frames(0, place).len()).sum();
        println!("{len} addresses, {frames} frames, {} functions in {took:?}", symbols.functions().len());
    }
    let text = |id| String::from_utf8_lossy(symbols.name(id)).into_owned();
    for (place, address) in given.iter().enumerate() {
        for frame in symbols.frames(0, place) {
            let function = frame.function.and_then(|id| symbols.function(id));
            let name = function.map_or_else(|| "?".to_owned(), |function| text(function.name));
            let inlined = if frame.is_inlined { " (inlined)" } else { "" };
            println!("{address:#x} {name}{inlined} {}:{}:{}", text(frame.file), frame.line, frame.column);
        }
    }
    for object in objects {
        println!("{} with a function, {} with a line", object.with_function, object.with_line);
        object.attempts.iter().for_each(|attempt| println!("  {attempt}"));
    }
    Ok(())
}

/// Addresses of code, by a sequence of random numbers.
fn code(path: &Path, count: usize) -> Result<Vec<u64>, Box<dyn Error>> {
    let object = Object::open(path)?.ok_or("is no ELF file")?;
    let text = object.sections().iter().find(|section| &*section.name == b".text").ok_or("has no .text")?;
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    Ok((0..count).map(|_| text.address + next() % text.size.max(1)).collect())
}
