//! Adds up profiles for binary optimizers, such as those of several machines.

use crate::formats::framework::profile_sum::{ProfileSum, SummedFormat};
use perf_data::container::output::Output;
use perf_data::container::write::envelope::Envelopes;
use perf_data::error::{Error, Result};
use std::path::PathBuf;

/// Writes the sum of profiles, which are read one after the other.
///
/// # Errors
/// If a profile cannot be read, or is of another format or another build; if the output cannot be written.
pub fn write_profile_sum(
    inputs: &[PathBuf],
    format: SummedFormat,
    envelopes: &Envelopes,
    output: &Output,
) -> Result<ProfileSum> {
    let mut sum = ProfileSum::new(format);
    inputs.iter().try_for_each(|input| sum.add_file(input))?;
    let written = output.write(|out| envelopes.around(out, |out| sum.write(out).map_err(Error::Output)))?;
    written.put_in_place()?;
    Ok(sum)
}
