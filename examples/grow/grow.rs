//! Repeats a recording's data, shifted, up to a size.

use std::io;

use crate::output::Output;
use crate::recording::{Recording, kind};
use crate::shift::Shift;

/// Writes shifted copies of a recording's data until they amount to `size` bytes.
pub(crate) fn grow(recording: &Recording, mut output: Output, size: u64, without_rounds: bool) -> io::Result<()> {
    let shift = Shift::of(recording);
    let mut shifted = Vec::new();
    for copy in 0.. {
        if copy > 0 && output.data_size() >= size {
            break;
        }
        for record in recording.records() {
            match kind(record) {
                kind::FINISHED_ROUND if without_rounds => {}
                kind::FINISHED_ROUND => output.round(record)?,
                kind::FIRST_USER.. if copy == 0 => output.user_record(record)?,
                kind::FIRST_USER.. => {}
                _ => {
                    shifted.clear();
                    shifted.extend_from_slice(record);
                    if shift.apply(&mut shifted, copy) {
                        output.record(&shifted)?;
                    }
                }
            }
        }
    }
    output.finish()
}
