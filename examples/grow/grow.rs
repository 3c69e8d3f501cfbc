//! Copy after copy, until there is enough.

use std::io;

use crate::output::Output;
use crate::recording::{Recording, kind};
use crate::shift::Shift;

/// Writes copies of a recording's data until there are `size` bytes.
pub fn grow(recording: &Recording, mut output: Output, size: u64, without_rounds: bool) -> io::Result<()> {
    let shift = Shift::of(recording);
    let mut moved = Vec::new();
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
                    moved.clear();
                    moved.extend_from_slice(record);
                    if shift.apply(&mut moved, copy) {
                        output.record(&moved)?;
                    }
                }
            }
        }
    }
    output.finish()
}
