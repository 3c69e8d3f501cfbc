//! Counts the samples with frames whose functions are unknown, by address space and by object.

use super::stacks::{FrameId, StackId};
use super::symbolize::MissingSymbols;
use super::{Frame, MappingId, Place, Profile, Tables};
use crate::abi::hex::to_hex;
use crate::session::space::Space;
use hashbrown::HashMap;
use std::fmt;
use std::sync::Arc;

/// Samples with frames whose functions are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// All samples.
    pub samples: u64,
    /// Samples with an unnamed frame.
    pub unnamed: u64,
    /// Samples with an unnamed kernel frame.
    pub kernel: u64,
    /// Samples with an unnamed frame elsewhere.
    pub user: u64,
    /// Objects with unnamed frames, those with the most samples first.
    pub objects: Vec<UnnamedObject>,
}

/// An object with unnamed frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedObject {
    /// Path or name.
    pub name: String,
    /// Samples with an unnamed frame in it.
    pub samples: u64,
    /// Its build ID in hexadecimal, if known.
    pub build_id: Option<String>,
    /// Why its functions are unknown, if they were searched.
    pub missing: Option<Arc<MissingSymbols>>,
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
        let of_frame = |(id, &frame): (FrameId, &Frame)| match symbols.function_of(id) {
            None => {
                let kernel = is_kernel(frame, tables);
                (Spaces { kernel, user: !kernel }, frame.mapping())
            }
            Some(_) => (Spaces::default(), None),
        };
        let frames: Vec<_> = (0..).zip(stacks.frames()).map(of_frame).collect();
        let mut by_mapping = HashMap::<MappingId, u64>::new();
        let mut mappings = Vec::new();
        for (stack, samples) in samples_of_stacks {
            let mut lacks = Spaces::default();
            mappings.clear();
            for &frame in stacks.stack(stack) {
                let (Spaces { kernel, user }, mapping) = frames[frame as usize];
                lacks = Spaces { kernel: lacks.kernel || kernel, user: lacks.user || user };
                mappings.extend(mapping.filter(|mapping| !mappings.contains(mapping)));
            }
            let count = |lacks: bool| if lacks { samples } else { 0 };
            self.samples += samples;
            self.unnamed += count(lacks.kernel || lacks.user);
            self.kernel += count(lacks.kernel);
            self.user += count(lacks.user);
            mappings.iter().for_each(|&mapping| *by_mapping.entry(mapping).or_default() += samples);
        }
        self.add_objects(tables, by_mapping);
    }

    fn add_objects(&mut self, tables: &Tables, by_mapping: HashMap<MappingId, u64>) {
        for (mapping, samples) in by_mapping {
            let map = &tables.mappings[mapping as usize];
            let name = String::from_utf8_lossy(&map.filename);
            let build_id = map.build_id.as_deref().map(to_hex);
            match self.objects.iter_mut().find(|object| object.name == name && object.build_id == build_id) {
                Some(object) => object.samples += samples,
                None => {
                    let missing = tables.objects.missing.get(&mapping).cloned();
                    self.objects.push(UnnamedObject { name: name.into_owned(), samples, build_id, missing });
                }
            }
        }
        self.objects.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
    }

    /// Formats a number of samples as a share of all.
    pub fn percent(&self, samples: u64) -> String {
        match u128::from(samples) * 100 / u128::from(self.samples.max(1)) {
            0 if samples > 0 => "less than 1 %".to_owned(),
            percent => format!("{percent} %"),
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
    use crate::profile::symbols::{Function, Line};
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
        let name = tables.symbols.name_id(b"f");
        let of_f = Function { name, system_name: name, file: name, start_line: 0 };
        tables.symbols.function_id(of_f);
        tables.symbols.set_lines(named, &[Line { function: 0, line: 0, column: 0 }], None);
        let profile = Profile { tables: Arc::new(tables), rows, ..Profile::default() };
        let mut unnamed = Unnamed::default();
        unnamed.add(&profile);
        let object = |name: &str, samples| UnnamedObject { name: name.to_owned(), samples, build_id: None, missing: None };
        let objects = vec![object("/bin/app", 10), object("[kernel.kallsyms]", 10)];
        assert_eq!(unnamed, Unnamed { samples: 100, unnamed: 15, kernel: 15, user: 10, objects });
        let text = "15 % of samples have frames without function names (kernel 15 %, user 10 %)";
        assert_eq!(unnamed.to_string(), text);
        let few = Unnamed { samples: 1000, unnamed: 999, kernel: 999, user: 1, objects: Vec::new() };
        assert!(few.to_string().starts_with("99 %") && few.to_string().ends_with("user less than 1 %)"), "{few}");
    }
}
