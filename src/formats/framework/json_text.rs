//! Sequences in JSON that are not in memory.

use perf_data::error::{Error, Result};
use serde::{Serialize, Serializer};
use std::io::{BufWriter, Write};

/// Serializes the items of an iterator as an array. The function begins the iteration.
pub(crate) struct Each<F>(pub F);

impl<F: Fn() -> I, I: IntoIterator<Item: Serialize>> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Writes a JSON document.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write(document: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 17, out);
    serde_json::to_writer(&mut out, document).map_err(|error| Error::Output(error.into()))?;
    out.write_all(b"\n").and_then(|()| out.flush()).map_err(Error::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_arrays() {
        let mut out = Vec::new();
        write(&Each(|| (0..3).map(|row| Each(move || 0..row))), &mut out).unwrap();
        assert_eq!(out, b"[[],[0],[0,1]]\n");
    }
}
