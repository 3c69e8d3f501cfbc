//! Counts the samples with frames whose functions are unknown, by address space and by object.

use super::stacks::{FrameId, StackId};
use super::symbolize::MissingSymbols;
use super::{Frame, MappingId, Place, Profile, Tables};
use perf_data::abi::hex::to_hex;
use perf_data::session::map::Map;
use std::fmt;
use std::sync::Arc;

/// Samples with frames whose functions are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsymbolized {
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

/// Where unnamed frames are: in a kernel, elsewhere, and in which object.
#[derive(Clone, Copy, Default)]
struct Unnamed {
    kernel: bool,
    user: bool,
    /// Index of the object, if all are in one.
    object: Option<usize>,
}

impl Unsymbolized {
    /// Adds the samples of a profile.
    pub fn add(&mut self, profile: &Profile) {
        self.add_stacks(&profile.tables, profile.rows.iter().map(|row| (row.stack, row.samples)));
    }

    /// Adds stacks with their sample counts.
    pub fn add_stacks(&mut self, tables: &Tables, samples_of_stacks: impl Iterator<Item = (StackId, u64)>) {
        let Tables { stacks, symbols, .. } = tables;
        // Kinds of frames: named ones, those of each mapping, and those outside any.
        let mut kinds = vec![Unnamed::default()];
        for (id, map) in (0..).zip(&tables.mappings) {
            let is_kernel =
                tables.is_kernel_frame(Frame { place: Place::In(id), address: map.start, is_caller: false });
            kinds.push(Unnamed { kernel: is_kernel, user: !is_kernel, object: Some(self.object(id, map, tables)) });
        }
        let outside = kinds.len() as u32;
        kinds.extend([false, true].map(|kernel| Unnamed { kernel, user: !kernel, object: None }));
        let kind = |(id, &frame): (FrameId, &Frame)| match (symbols.frame_function(id), frame.place) {
            (Some(_), _) => 0,
            (None, Place::In(mapping)) => mapping + 1,
            (None, Place::Outside(_)) => outside + u32::from(tables.is_kernel_frame(frame)),
        };
        let frames: Vec<u32> = (0..).zip(stacks.frames()).map(kind).collect();
        let mut stack_objects = Vec::new();
        for (stack, samples) in samples_of_stacks {
            let mut lacks = Unnamed::default();
            stack_objects.clear();
            for &frame in stacks.stack(stack) {
                let Unnamed { kernel, user, object } = kinds[frames[frame as usize] as usize];
                (lacks.kernel, lacks.user) = (lacks.kernel | kernel, lacks.user | user);
                stack_objects.extend(object.filter(|object| !stack_objects.contains(object)));
            }
            let count = |lacks: bool| if lacks { samples } else { 0 };
            self.samples += samples;
            self.unnamed += count(lacks.kernel || lacks.user);
            self.kernel += count(lacks.kernel);
            self.user += count(lacks.user);
            stack_objects.iter().for_each(|&object| self.objects[object].samples += samples);
        }
        self.objects.retain(|object| object.samples > 0);
        self.objects.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.name.cmp(&b.name)));
    }

    /// The index of the object of a mapping; several mappings can have the same.
    fn object(&mut self, mapping: MappingId, map: &Map, tables: &Tables) -> usize {
        let name = String::from_utf8_lossy(if map.is_kernel() { b"[kernel.kallsyms]" } else { &map.filename });
        let build_id = map.build_id.as_deref().map(to_hex);
        let missing = tables.objects.missing.get(&mapping);
        let same = |object: &UnnamedObject| object.name == name && object.build_id == build_id;
        let index = self.objects.iter().position(same).unwrap_or_else(|| {
            self.objects.push(UnnamedObject { name: name.into_owned(), samples: 0, build_id, missing: None });
            self.objects.len() - 1
        });
        let slot = &mut self.objects[index].missing;
        *slot = slot.take().or_else(|| missing.cloned());
        index
    }

    /// Formats a number of samples as a share of all.
    pub fn percent(&self, samples: u64) -> String {
        match u128::from(samples) * 100 / u128::from(self.samples.max(1)) {
            0 if samples > 0 => "less than 1%".to_owned(),
            percent => format!("{percent}%"),
        }
    }
}

/// Shows the share of samples with unnamed frames, by space.
impl fmt::Display for Unsymbolized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [unnamed, kernel, user] = [self.unnamed, self.kernel, self.user].map(|samples| self.percent(samples));
        write!(f, "{unnamed} of samples have frames without function names (kernel {kernel}, user {user})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Row;
    use crate::profile::symbols::{Function, Line};
    use perf_data::session::space::Space;
    use std::sync::Arc;

    #[test]
    fn counts_samples_with_unnamed_frames() {
        let mut tables = Tables::default();
        tables.mappings.push(Map::new(0x1000, 0x1000, 0, b"[kernel.kallsyms]", None));
        tables.mappings.push(Map::new(0x2000, 0x1000, 0, b"/bin/app", None));
        let mut frame = |place, address| tables.stacks.frame_id(Frame { place, address, is_caller: false });
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
        let function = Function { name, system_name: name, file: name, start_line: 0 };
        tables.symbols.function_id(function);
        tables.symbols.set_lines(named, &[Line { function: 0, line: 0, column: 0 }], None);
        let profile = Profile { tables: Arc::new(tables), rows, ..Profile::default() };
        let mut unnamed = Unsymbolized::default();
        unnamed.add(&profile);
        let object =
            |name: &str, samples| UnnamedObject { name: name.to_owned(), samples, build_id: None, missing: None };
        let objects = vec![object("/bin/app", 10), object("[kernel.kallsyms]", 10)];
        assert_eq!(unnamed, Unsymbolized { samples: 100, unnamed: 15, kernel: 15, user: 10, objects });
        let text = "15% of samples have frames without function names (kernel 15%, user 10%)";
        assert_eq!(unnamed.to_string(), text);
        let few = Unsymbolized { samples: 1000, unnamed: 999, kernel: 999, user: 1, objects: Vec::new() };
        assert!(few.to_string().starts_with("99%") && few.to_string().ends_with("user less than 1%)"), "{few}");
    }
}
