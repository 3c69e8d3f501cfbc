//! Counts the frames whose functions are unknown, by address space and by object.

use super::symbols::Symbols;
use super::{MissingSymbols, ObjectReports};
use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::{Frame, MappingId, Place, Profile, Tables};
use perf_data::abi::hex::to_hex;
use perf_data::printable;
use perf_data::session::map::Map;
use perf_data::session::space::Space;
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

/// The names that stand for addresses that no mapping holds.
const OUTSIDE: &str = "addresses without a mapping";
const OUTSIDE_KERNEL: &str = "kernel addresses without a mapping";

/// Number of digits of a build ID in short messages.
const BUILD_ID_DIGITS: usize = 8;

/// Frames whose functions are unknown, counted once for each sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unsymbolized {
    /// All frames.
    pub all: FrameCounts,
    /// Those without a function name.
    pub unnamed: FrameCounts,
    /// Those in the kernel.
    pub kernel: FrameCounts,
    /// Those elsewhere.
    pub user: FrameCounts,
    /// Samples with a frame without a name, where whole stacks are known.
    pub samples: Option<u64>,
    /// Where frames without names are, the most first.
    pub objects: Vec<UnnamedObject>,
}

/// Numbers of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameCounts {
    /// The innermost of their stacks.
    pub innermost: u64,
    /// All, including the innermost.
    pub all: u64,
}

/// An object with unnamed frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnnamedObject {
    /// Path or name.
    pub name: String,
    /// The frames.
    pub frames: FrameCounts,
    /// Its build ID in hexadecimal, if known.
    pub build_id: Option<String>,
    /// Why its functions are unknown, if they were searched.
    pub missing: Option<Arc<MissingSymbols>>,
}

/// Frames with what is known about them.
#[derive(Clone, Copy)]
pub(crate) struct LookedUpFrames<'a> {
    pub frames: &'a [Frame],
    pub mappings: &'a [Map],
    pub symbols: &'a Symbols,
    pub objects: &'a ObjectReports,
}

impl AddAssign for FrameCounts {
    fn add_assign(&mut self, other: Self) {
        self.innermost += other.innermost;
        self.all += other.all;
    }
}

impl FrameCounts {
    /// Counts a frame of this many samples.
    pub(crate) fn count(&mut self, is_innermost: bool, samples: u64) {
        *self += Self { innermost: if is_innermost { samples } else { 0 }, all: samples };
    }
}

impl LookedUpFrames<'_> {
    fn is_kernel(&self, frame: Frame) -> bool {
        match frame.place {
            Place::In(mapping) => self.mappings[mapping as usize].belongs_to_kernel(),
            Place::Outside(space) => space.is_kernel(),
        }
    }

    /// Whether a frame stands for a sample without any address.
    fn is_without_address(frame: Frame) -> bool {
        frame.place == Place::Outside(Space::Unknown) && frame.address == 0
    }

    fn is_named(&self, id: FrameId) -> bool {
        self.symbols.frame_function(id).is_some()
    }
}

impl Unsymbolized {
    /// Adds the samples of a profile.
    pub fn add(&mut self, profile: &Profile) {
        self.add_stacks(&profile.tables, profile.rows.iter().map(|row| (row.stack, row.samples)));
    }

    /// Adds stacks with their sample counts.
    pub fn add_stacks(&mut self, tables: &Tables, samples_of_stacks: impl Iterator<Item = (StackId, u64)>) {
        let Tables { stacks, symbols, mappings, objects, .. } = tables;
        let looked_up = LookedUpFrames { frames: stacks.frames(), mappings, symbols, objects };
        let lacks_name =
            |(id, &frame): (FrameId, &Frame)| !looked_up.is_named(id) && !LookedUpFrames::is_without_address(frame);
        let lacks_name: Vec<_> = (0..).zip(looked_up.frames).map(lacks_name).collect();
        let mut counts = vec![FrameCounts::default(); looked_up.frames.len()];
        let mut unnamed_samples = 0;
        for (stack, samples) in samples_of_stacks {
            let stack = stacks.stack(stack);
            for (depth, &frame) in stack.iter().enumerate() {
                counts[frame as usize].count(depth == 0, samples);
            }
            unnamed_samples += if stack.iter().any(|&frame| lacks_name[frame as usize]) { samples } else { 0 };
        }
        self.add_frames(looked_up, &counts);
        *self.samples.get_or_insert_default() += unnamed_samples;
    }

    /// Adds frames with how often they occur, by ID.
    pub(crate) fn add_frames(&mut self, looked_up: LookedUpFrames<'_>, counts: &[FrameCounts]) {
        for ((id, &frame), &count) in (0..).zip(looked_up.frames).zip(counts) {
            if count.all == 0 || LookedUpFrames::is_without_address(frame) {
                continue;
            }
            self.all += count;
            if looked_up.is_named(id) {
                continue;
            }
            let is_kernel = looked_up.is_kernel(frame);
            let object = match frame.place {
                Place::In(mapping) => self.object(mapping, &looked_up),
                Place::Outside(_) => self.outside(is_kernel),
            };
            self.add_unnamed(object, is_kernel, count);
        }
        self.sort();
    }

    /// Adds frames outside of mappings.
    pub(crate) fn add_outside(&mut self, is_kernel: bool, count: FrameCounts) {
        if count.all > 0 {
            self.all += count;
            let object = self.outside(is_kernel);
            self.add_unnamed(object, is_kernel, count);
            self.sort();
        }
    }

    fn add_unnamed(&mut self, object: usize, is_kernel: bool, count: FrameCounts) {
        self.unnamed += count;
        *(if is_kernel { &mut self.kernel } else { &mut self.user }) += count;
        self.objects[object].frames += count;
    }

    /// Orders the objects, once the shares are known.
    fn sort(&mut self) {
        let innermost = self.all.innermost;
        for object in &mut self.objects {
            let reason = match &*object.name {
                OUTSIDE_KERNEL => "record as root, or with kernel.kptr_restrict=0",
                // An instruction that ran was mapped; callers may be guesses of the kernel.
                OUTSIDE if is_noticeable(object.frames.innermost, innermost) => {
                    "their mappings were not recorded: records were lost or damaged, or recording began too late"
                }
                OUTSIDE => "callers guessed in code without frame pointers; record with --call-graph dwarf or lbr",
                _ => continue,
            };
            object.missing = Some(Arc::new(MissingSymbols { reason: reason.to_owned(), attempts: Vec::new() }));
        }
        self.objects.sort_by(|a, b| b.frames.all.cmp(&a.frames.all).then_with(|| a.name.cmp(&b.name)));
    }

    /// The index of the object of a mapping; several mappings can have the same.
    fn object(&mut self, mapping: MappingId, looked_up: &LookedUpFrames<'_>) -> usize {
        let map = &looked_up.mappings[mapping as usize];
        let name = String::from_utf8_lossy(if map.is_kernel() { b"[kernel.kallsyms]" } else { &map.filename });
        let build_id = map.build_id.as_deref().map(to_hex);
        let index = self.object_named(&name, build_id);
        let slot = &mut self.objects[index].missing;
        *slot = slot.take().or_else(|| looked_up.objects.missing.get(&mapping).cloned());
        index
    }

    /// The index of what stands for addresses outside of mappings.
    fn outside(&mut self, is_kernel: bool) -> usize {
        self.object_named(if is_kernel { OUTSIDE_KERNEL } else { OUTSIDE }, None)
    }

    fn object_named(&mut self, name: &str, build_id: Option<String>) -> usize {
        let same = |object: &UnnamedObject| object.name == name && object.build_id == build_id;
        self.objects.iter().position(same).unwrap_or_else(|| {
            let frames = FrameCounts::default();
            self.objects.push(UnnamedObject { name: name.to_owned(), frames, build_id, missing: None });
            self.objects.len() - 1
        })
    }

    /// Whether at least one percent of all frames, or of the innermost, have no name.
    pub fn is_noticeable(&self) -> bool {
        is_noticeable(self.unnamed.all, self.all.all) || is_noticeable(self.unnamed.innermost, self.all.innermost)
    }

    /// The share of frames without names, and the objects that lack them, one on each line: the first `limit`, or all with the files
    /// that were tried.
    pub fn lines(&self, limit: Option<usize>) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        let shown = limit.unwrap_or(usize::MAX);
        for object in self.objects.iter().take(shown) {
            lines.push(format!("  {}", self.object_line(object, limit.is_some())));
            let attempts = object.missing.iter().flat_map(|missing| &missing.attempts).filter(|_| limit.is_none());
            lines.extend(attempts.map(|attempt| format!("    {attempt}")));
        }
        lines
    }

    /// The number of objects beyond the first, if there are any: `3 more objects`.
    pub fn further_objects(&self, shown: usize) -> Option<String> {
        match self.objects.len().saturating_sub(shown) {
            0 => None,
            1 => Some("1 more object".to_owned()),
            further => Some(format!("{further} more objects")),
        }
    }

    /// An object with its shares and the reason: `12% of frames, 3% of innermost in /bin/app: stripped`.
    fn object_line(&self, object: &UnnamedObject, is_short: bool) -> String {
        let UnnamedObject { name, frames, build_id, missing } = object;
        // Recorded: these lines go to terminals, pages and Markdown.
        let name = printable::name(name);
        let id = build_id.as_ref().map(|id| match id.get(..BUILD_ID_DIGITS).filter(|_| is_short) {
            Some(start) => format!(" (build ID {start}…)"),
            None => format!(" (build ID {id})"),
        });
        let id = id.unwrap_or_default();
        let reason = missing.as_ref().map(|missing| format!(": {}", missing.reason)).unwrap_or_default();
        format!("{} of frames, {} of innermost in {name}{id}{reason}", self.share(frames.all), self.innermost(frames))
    }

    fn share(&self, frames: u64) -> String {
        percent(frames, self.all.all)
    }

    fn innermost(&self, frames: &FrameCounts) -> String {
        percent(frames.innermost, self.all.innermost)
    }
}

/// Whether a part of all is at least one percent.
fn is_noticeable(part: u64, all: u64) -> bool {
    part > 0 && part >= all / 100
}

/// A share of all, as a percentage.
fn percent(part: u64, all: u64) -> String {
    match u128::from(part) * 100 / u128::from(all.max(1)) {
        0 if part > 0 => "less than 1%".to_owned(),
        percent => format!("{percent}%"),
    }
}

/// Shows the shares of frames without names, by space.
impl fmt::Display for Unsymbolized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, kernel, user] = [self.unnamed, self.kernel, self.user].map(|frames| self.share(frames.all));
        let innermost = self.innermost(&self.unnamed);
        write!(
            f,
            "{all} of frames and {innermost} of innermost frames have no function name (kernel {kernel}, user {user})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Row;
    use crate::profile::symbolize::symbols::{Function, Line};
    use perf_data::session::space::Space;
    use std::sync::Arc;

    #[test]
    fn counts_unnamed_frames() {
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
        let object = |name: &str, innermost, all| UnnamedObject {
            name: name.to_owned(),
            frames: FrameCounts { innermost, all },
            build_id: None,
            missing: None,
        };
        assert_eq!((unnamed.all, unnamed.unnamed), (counts(95, 110), counts(15, 25)));
        assert_eq!((unnamed.kernel, unnamed.user, unnamed.samples), (counts(15, 15), counts(0, 10), Some(15)));
        assert_eq!(unnamed.objects[..2], [object("/bin/app", 0, 10), object("[kernel.kallsyms]", 10, 10)]);
        assert_eq!(unnamed.objects[2].name, "kernel addresses without a mapping");
        let text = "22% of frames and 15% of innermost frames have no function name (kernel 13%, user 9%)";
        assert_eq!(unnamed.to_string(), text);
        assert_eq!(unnamed.lines(Some(1))[1..], ["  9% of frames, 0% of innermost in /bin/app"]);
        assert_eq!((unnamed.further_objects(1).as_deref(), unnamed.further_objects(3)), (Some("2 more objects"), None));
        assert_eq!(percent(1, 1000), "less than 1%");
    }

    fn counts(innermost: u64, all: u64) -> FrameCounts {
        FrameCounts { innermost, all }
    }
}
