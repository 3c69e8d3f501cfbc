//! Stacks without some of their frames, as people ask of flame graph tools: from a function on, without callers of another, without
//! recursion.
//!
//! Frames are cut after their functions are known. A frame is kept or cut with the functions inlined into it.

use super::function_selection::SelectedFunctions;
use super::{Frame, Profile, Row};
use crate::profile::intern::stacks::{FrameId, Stacks};
use crate::profile::symbolize::function_name::without_own_parameters;
use crate::profile::symbolize::shown_functions::ShownFunctions;
use crate::profile::symbolize::symbols::Symbols;
use hashbrown::HashMap;
use perf_data::error::Result;
use perf_data::session::map::Map;
use std::borrow::Cow;
use std::collections::HashSet;

/// Which frames are cut from stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct StackCuts {
    /// Start stacks at a function: cut the callers of its outermost call. Stacks without it are kept. The name may be a part that
    /// only one function has, or a regular expression.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FUNCTION"))]
    pub base: Option<String>,

    /// Cut the callers of a function's innermost call, named as for --base.
    #[cfg_attr(feature = "cli", arg(long, value_name = "FUNCTION"))]
    pub skip_after: Option<String>,

    /// Show functions that call themselves once.
    #[cfg_attr(feature = "cli", arg(long))]
    pub collapse_recursion: bool,

    /// How to show addresses that no mapping holds, which code without frame pointers leaves in call chains.
    #[cfg_attr(feature = "cli", arg(long, value_enum, value_name = "HOW", default_value_t))]
    pub unmapped: Unmapped,
}

/// How addresses that no mapping holds are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Unmapped {
    /// As one frame `[unknown]`, also several in succession: they are mostly not code, and would make nearly every stack unique
    #[default]
    Merge,
    /// Each as a frame with its address
    Keep,
}

/// What was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    frames: u64,
    cut_frames: u64,
    samples: u64,
    cut_samples: u64,
}

impl StackCuts {
    /// Whether any frame may be cut by its function.
    pub fn is_any(&self) -> bool {
        self.base.is_some() || self.skip_after.is_some() || self.collapse_recursion
    }

    /// Cuts the stacks of profiles, adds up their rows that become equal, and returns a message with the share that was cut.
    ///
    /// # Errors
    /// If no function has a given name.
    pub(super) fn apply<'a>(
        &self,
        stacks: &mut Stacks,
        mappings: &[Map],
        symbols: &Symbols,
        profiles: impl Iterator<Item = &'a mut Profile>,
    ) -> Result<String> {
        let shown = ShownFunctions::new(stacks.frames(), mappings, symbols);
        let functions = FrameFunctions::new(&shown, stacks.frames(), symbols);
        let base = self.base.as_deref().map(|name| functions.matching(name)).transpose()?;
        let skip_after = self.skip_after.as_deref().map(|name| functions.matching(name)).transpose()?;
        let cut = |stack: &[FrameId]| {
            let mut kept = stack.to_vec();
            let is_in = |matching: &[bool], frame: &FrameId| matching[*frame as usize];
            if let Some(last) = base.as_ref().and_then(|base| kept.iter().rposition(|frame| is_in(base, frame))) {
                kept.truncate(last + 1);
            }
            if let Some(first) = skip_after.as_ref().and_then(|skip| kept.iter().position(|frame| is_in(skip, frame))) {
                kept.truncate(first + 1);
            }
            if self.collapse_recursion {
                kept.dedup_by(|outer, inner| functions.is_same(*outer, *inner));
            }
            kept
        };
        let mut share = Share::default();
        let uncut = stacks.lengths();
        stacks.replace(cut);
        for profile in profiles {
            for row in &mut profile.rows {
                let (before, after) = (uncut[row.stack as usize], stacks.stack(row.stack).len() as u64);
                share.add(before, after, row.samples);
                row.stack = stacks.replacement(row.stack);
            }
            if profile.occurrences.is_empty() {
                profile.rows = merged(std::mem::take(&mut profile.rows));
            }
        }
        Ok(share.message())
    }
}

impl Share {
    fn add(&mut self, before: u64, after: u64, samples: u64) {
        self.frames += before * samples;
        self.cut_frames += (before - after) * samples;
        self.samples += samples;
        self.cut_samples += if after < before { samples } else { 0 };
    }

    fn message(self) -> String {
        let percent = |part: u64, all: u64| part as f64 * 100.0 / all.max(1) as f64;
        format!(
            "cut {:.1}% of frames, from the stacks of {:.1}% of samples",
            percent(self.cut_frames, self.frames),
            percent(self.cut_samples, self.samples)
        )
    }
}

/// Rows of equal stacks, labels and events added up, in the order of the first of each.
fn merged(rows: Vec<Row>) -> Vec<Row> {
    let mut indexes = HashMap::new();
    let mut merged: Vec<Row> = Vec::with_capacity(rows.len());
    for row in rows {
        match indexes.get(&(row.stack, row.labels, row.event)).copied() {
            Some(index) => {
                let sum: &mut Row = &mut merged[index];
                sum.samples += row.samples;
                sum.value = sum.value.saturating_add(row.value);
            }
            None => {
                indexes.insert((row.stack, row.labels, row.event), merged.len());
                merged.push(row);
            }
        }
    }
    merged
}

/// The functions of frames, by name.
struct FrameFunctions<'a> {
    /// By frame: the shown and full names of its functions, innermost first.
    names: Vec<Vec<(&'a str, Cow<'a, str>)>>,
}

impl<'a> FrameFunctions<'a> {
    fn new(shown: &'a ShownFunctions, frames: &[Frame], symbols: &'a Symbols) -> Self {
        let names = |(id, frame): (FrameId, &Frame)| {
            let functions = symbols.lines(id).iter().filter_map(|line| {
                let function = symbols.function(line.function)?;
                let full = String::from_utf8_lossy(without_own_parameters(*function, symbols));
                let short = shown.get(line.function, frame.mapping()).map_or("", |function| &function.short.text);
                Some((short, full))
            });
            functions.collect()
        };
        Self { names: (0..).zip(frames).map(names).collect() }
    }

    /// By frame: whether it is in a function that a text selects.
    fn matching(&self, text: &str) -> Result<Vec<bool>> {
        let all: HashSet<_> = self.names.iter().flatten().map(|(short, full)| (*short, &**full)).collect();
        let selected = SelectedFunctions::with_full_names(text, all)?;
        let selected: HashSet<&str> = selected.full_names.into_iter().collect();
        Ok(self.names.iter().map(|names| names.iter().any(|(_, full)| selected.contains(&**full))).collect())
    }

    /// Whether two frames are in the same known functions.
    fn is_same(&self, one: FrameId, other: FrameId) -> bool {
        let [one, other] = [one, other].map(|frame| &self.names[frame as usize]);
        !one.is_empty() && one == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Place;
    use crate::profile::symbolize::symbols::{Function, Line};

    /// Cuts the stack `main`, `eval`, `eval`, `add`, `eval`, outermost first.
    fn cut(cuts: &StackCuts) -> Result<(String, String)> {
        let (mut stacks, mut symbols) = (Stacks::default(), Symbols::default());
        let names = ["eval", "add", "eval", "eval", "main"];
        let frames: Vec<_> =
            (0..5).map(|address| stacks.frame_id(Frame { place: Place::In(0), address, is_caller: false })).collect();
        for (&frame, name) in frames.iter().zip(names) {
            let name = symbols.name_id(name.as_bytes());
            let function = symbols.function_id(Function { name, system_name: name, file: name, start_line: 0 });
            symbols.set_lines(frame, &[Line { function, line: 0, column: 0 }], None);
        }
        let maps = [Map::new(0x1000, 0x1000, 0, b"/bin/eval", None)];
        let stack = stacks.stack_id(&frames);
        let row = Row { stack, labels: 0, event: 0, samples: 2, value: 2 };
        let mut profile = Profile { rows: vec![row], ..Profile::default() };
        let message = cuts.apply(&mut stacks, &maps, &symbols, std::iter::once(&mut profile))?;
        let kept = stacks.stack(profile.rows[0].stack).iter().rev();
        Ok((kept.map(|&frame| names[frame as usize]).collect::<Vec<_>>().join(";"), message))
    }

    #[test]
    fn stacks_start_at_the_outermost_or_innermost_call() {
        let cuts = |base: Option<&str>, skip_after: Option<&str>, collapse_recursion| StackCuts {
            base: base.map(str::to_owned),
            skip_after: skip_after.map(str::to_owned),
            collapse_recursion,
            ..StackCuts::default()
        };
        let (kept, message) = cut(&cuts(Some("eval"), None, false)).unwrap();
        assert_eq!(kept, "eval;eval;add;eval");
        assert_eq!(message, "cut 20.0% of frames, from the stacks of 100.0% of samples");
        assert_eq!(cut(&cuts(None, Some("eval"), false)).unwrap().0, "eval");
        assert_eq!(cut(&cuts(None, None, true)).unwrap().0, "main;eval;add;eval");
        assert_eq!(cut(&cuts(Some("eval"), Some("add"), true)).unwrap().0, "add;eval");
        let error = cut(&cuts(Some("evals"), None, false)).unwrap_err().to_string();
        assert!(error.contains("did you mean 'eval'"), "{error}");
    }
}
