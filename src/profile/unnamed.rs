//! Counts samples with frames that lack function names.

use super::stacks::{FrameId, StackId};
use super::{Frame, Place, Profile, Tables};
use crate::session::space::Space;
use std::fmt;

/// Counts samples by what their stacks lack. A sample with unnamed frames of both spaces counts in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// All samples.
    pub samples: u64,
    /// Samples with an unnamed frame.
    pub unnamed: u64,
    /// Samples with an unnamed kernel frame.
    pub kernel: u64,
    /// Samples with an unnamed frame elsewhere.
    pub user: u64,
}

/// Spaces of the unnamed frames in a stack.
#[derive(Clone, Copy, Default)]
struct Spaces {
    kernel: bool,
    user: bool,
}

impl Unnamed {
    /// Adds the samples of a profile.
    pub fn add(&mut self, profile: &Profile) {
        self.add_stacks(&profile.tables, profile.rows.iter().map(|row| (row.stack, row.samples)));
    }

    /// Adds stacks with their sample counts.
    pub fn add_stacks(&mut self, tables: &Tables, samples_of_stacks: impl Iterator<Item = (StackId, u64)>) {
        let Tables { stacks, symbols, .. } = tables;
        let of_frame = |(id, &frame): (FrameId, &Frame)| match symbols.of(id).line {
            Some(_) => Spaces::default(),
            None => {
                let kernel = is_kernel(frame, tables);
                Spaces { kernel, user: !kernel }
            }
        };
        let frames: Vec<Spaces> = (0..).zip(stacks.frames()).map(of_frame).collect();
        for (stack, samples) in samples_of_stacks {
            let mut lacks = Spaces::default();
            for &frame in stacks.stack(stack) {
                let Spaces { kernel, user } = frames[frame as usize];
                lacks = Spaces { kernel: lacks.kernel || kernel, user: lacks.user || user };
            }
            let count = |lacks: bool| if lacks { samples } else { 0 };
            self.samples += samples;
            self.unnamed += count(lacks.kernel || lacks.user);
            self.kernel += count(lacks.kernel);
            self.user += count(lacks.user);
        }
    }

    fn percent(&self, samples: u64) -> String {
        match u128::from(samples) * 100 / u128::from(self.samples.max(1)) {
            0 if samples > 0 => "less than 1%".to_owned(),
            percent => format!("{percent}%"),
        }
    }
}

/// Shows the share of samples with unnamed frames, by space.
impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [unnamed, kernel, user] = [self.unnamed, self.kernel, self.user].map(|samples| self.percent(samples));
        write!(f, "{unnamed} of samples have frames without function names (kernel {kernel}, user {user})")
    }
}

/// Whether a frame is in a kernel, by its mapping or else its address space.
fn is_kernel(frame: Frame, tables: &Tables) -> bool {
    match frame.place {
        Place::In(mapping) => tables.mappings[mapping as usize].is_of_kernel(),
        Place::Outside(space) => matches!(space, Space::Kernel | Space::GuestKernel | Space::Hypervisor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Row;
    use crate::profile::imported::{ImportedProfile, ImportedSymbols};
    use crate::profile::symbols::{FrameSymbol, Line, Symbols};
    use crate::session::map::Map;
    use std::sync::Arc;

    #[test]
    fn counts_samples_with_unnamed_frames() {
        let mut tables = Tables::default();
        tables.mappings.push(Map::new(0x1000, 0x1000, 0, b"[kernel.kallsyms]", None));
        tables.mappings.push(Map::new(0x2000, 0x1000, 0, b"/bin/app", None));
        let mut frame = |place, address| tables.stacks.frame_id(Frame { place, address });
        let [kernel, app, named, outside] = [
            frame(Place::In(0), 0x1000),
            frame(Place::In(1), 0x2000),
            frame(Place::In(1), 0x2001),
            frame(Place::Outside(Space::Kernel), 1),
        ];
        let stacks = [&[kernel, app][..], &[named], &[outside, named], &[]].map(|stack| tables.stacks.stack_id(stack));
        let row = |(stack, samples)| Row { stack, labels: 0, event: 0, samples, value: 1 };
        let rows = stacks.into_iter().zip([10, 80, 5, 5]).map(row).collect();
        let mut symbols = ImportedSymbols::default();
        let line = Some(Line { function: 0, line: 0, column: 0 });
        symbols.add(&tables.mappings[1], 0x2001, false, FrameSymbol { line, ..FrameSymbol::default() });
        let imported = Arc::new(ImportedProfile { symbols, ..ImportedProfile::default() });
        tables.symbols = Symbols::new(imported, tables.stacks.frames(), &tables.mappings);
        let profile = Profile { tables: Arc::new(tables), rows, ..Profile::default() };
        let mut unnamed = Unnamed::default();
        unnamed.add(&profile);
        assert_eq!(unnamed, Unnamed { samples: 100, unnamed: 15, kernel: 15, user: 10 });
        let text = "15% of samples have frames without function names (kernel 15%, user 10%)";
        assert_eq!(unnamed.to_string(), text);
        let few = Unnamed { samples: 1000, unnamed: 999, kernel: 999, user: 1 };
        assert!(few.to_string().starts_with("99%") && few.to_string().ends_with("user less than 1%)"), "{few}");
    }
}
