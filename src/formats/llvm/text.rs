//! The text form.
//!
//! ```text
//! NAME:TOTAL:HEAD
//!  LINE[.DISCRIMINATOR]: COUNT [TARGET:COUNT]...
//!  LINE[.DISCRIMINATOR]: INLINED:TOTAL
//!   LINE[.DISCRIMINATOR]: COUNT
//!  !CFGChecksum: CHECKSUM
//!  !Attributes: ATTRIBUTES
//! ```

use crate::branches::source_profile::{FunctionCounts, SourcePosition, SourceProfile};
use std::io::{Result, Write};

/// Writes a profile.
pub(crate) fn write(profile: &SourceProfile, out: &mut dyn Write) -> Result<()> {
    for (name, counts) in profile.by_total() {
        out.write_all(profile.name(name))?;
        writeln!(out, ":{}:{}", counts.total, counts.head)?;
        function(profile, counts, 1, out)?;
    }
    Ok(())
}

/// Writes the positions of a function, and the functions that are inlined at them.
fn function(profile: &SourceProfile, counts: &FunctionCounts, indent: usize, out: &mut dyn Write) -> Result<()> {
    for (at, count) in &counts.body {
        position(*at, indent, out)?;
        write!(out, "{}", count.count)?;
        for (name, count) in FunctionCounts::sorted_targets(count) {
            out.write_all(b" ")?;
            out.write_all(profile.name(name))?;
            write!(out, ":{count}")?;
        }
        out.write_all(b"\n")?;
    }
    for (at, name, inlined) in counts.each_inlined() {
        position(at, indent, out)?;
        out.write_all(profile.name(name))?;
        writeln!(out, ":{}", inlined.total)?;
        function(profile, inlined, indent + 1, out)?;
    }
    if let Some(checksum) = counts.checksum {
        writeln!(out, "{:indent$}!CFGChecksum: {checksum}", "")?;
    }
    if counts.attributes > 0 {
        writeln!(out, "{:indent$}!Attributes: {}", "", counts.attributes)?;
    }
    Ok(())
}

fn position(at: SourcePosition, indent: usize, out: &mut dyn Write) -> Result<()> {
    let SourcePosition { line, discriminator } = at;
    match discriminator {
        0 => write!(out, "{:indent$}{line}: ", ""),
        _ => write!(out, "{:indent$}{line}.{discriminator}: ", ""),
    }
}
