//! The frames of a file.

use crate::profile::Tables;
use crate::profile::intern::stacks::FrameId;
use crate::report::location::{LocationId, Locations};
use hashbrown::HashMap;
use serde::Serialize;

/// Frames without duplicates.
pub(super) struct SpeedscopeFrames {
    locations: Locations,
    has_lines: bool,
    /// By location: index of its frame.
    by_location: Vec<u32>,
    /// The first location of each frame.
    list: Vec<LocationId>,
}

#[derive(Serialize)]
pub(super) struct SpeedscopeFrame {
    name: String,
    /// Not in the schema, which allows other fields: the full name, for an import.
    #[serde(rename = "fullName", skip_serializing_if = "Option::is_none")]
    full_name: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "is_unknown")]
    line: i64,
}

fn is_unknown(line: &i64) -> bool {
    *line <= 0
}

impl SpeedscopeFrames {
    /// The frames of a profile: functions, each with its first line, or with `has_lines` lines of functions.
    pub(super) fn new(tables: &Tables, has_lines: bool) -> Self {
        let locations = Locations::with_names(tables, tables.function_names);
        let (mut indexes, mut list, mut by_location) = (HashMap::new(), Vec::new(), Vec::new());
        for (id, location) in (0..).zip(locations.list()) {
            let line = if has_lines { location.line } else { 0 };
            let frame = *indexes.entry((location.function, location.dso, location.file, line)).or_insert_with(|| {
                list.push(id);
                list.len() as u32 - 1
            });
            by_location.push(frame);
        }
        Self { locations, has_lines, by_location, list }
    }

    /// The first location of each frame.
    pub(super) fn list(&self) -> impl Iterator<Item = LocationId> + '_ {
        self.list.iter().copied()
    }

    /// The frame of a location. Its file is the source file or, if that is unknown, the file with the code.
    pub(super) fn frame(&self, location: LocationId) -> SpeedscopeFrame {
        let Self { locations, has_lines, .. } = self;
        let location = locations.get(location);
        let source = locations.text(location.file);
        let file = if source.is_empty() { locations.text(location.dso) } else { source };
        let line = if *has_lines { location.line } else { location.start_line };
        let (name, full_name) = (locations.function_name(location.function), locations.text(location.function));
        let full_name = (name != full_name).then(|| full_name.into_owned());
        SpeedscopeFrame { name: name.into_owned(), full_name, file: file.into_owned(), line }
    }

    /// Indexes of the frames of a stack, root first.
    pub(super) fn stack_frames<'a>(&'a self, stack: &'a [FrameId]) -> impl Iterator<Item = u32> + 'a {
        self.locations.stack_locations(stack).rev().map(|location| self.by_location[location as usize])
    }
}
