//! Frames of an imported profile, and where libraries are mapped.

use super::document::{Category, ImportedLib};
use super::import_tables::TableFrame;
use crate::formats::import::json_document::JsonText;
use crate::formats::import::source::{SourceFrame, SourceFunction, SourceMapping, SourceProfile};
use crate::formats::import::symbols::Kernel;
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::abi::hex;
use perf_data::session::map::PAGE;
use std::ops::Range;

/// Addresses of libraries.
const USER: Range<u64> = 0x10_0000_0000..1 << 37;

/// Addresses of kernels and their modules.
const KERNEL: Range<u64> = Kernel::START..Kernel::END;

/// The profile, with frames whose addresses are relative to their libraries until [`finish`](Self::finish).
pub(super) struct ImportedFrames<'a> {
    pub profile: SourceProfile,
    libs: &'a [ImportedLib<'a>],
    /// By category: whether its frames are of the kernel.
    kernel_categories: Vec<bool>,
    /// By path and code ID of a library, which a profile may list more than once.
    mappings: HashMap<(&'a str, Option<&'a str>), u32>,
    frame_ids: HashMap<SourceFrame, u32>,
    /// Number of frames of libraries without a function.
    unnamed: u64,
}

impl<'a> ImportedFrames<'a> {
    /// A profile without frames.
    pub(super) fn new(libs: &'a [ImportedLib<'a>], categories: &[Category<'_>]) -> Self {
        Self {
            profile: SourceProfile::default(),
            libs,
            kernel_categories: categories.iter().map(|category| &*category.name == "Kernel").collect(),
            mappings: HashMap::new(),
            frame_ids: HashMap::new(),
            unnamed: 0,
        }
    }

    /// The number of a frame.
    pub(super) fn id(&mut self, frame: &TableFrame<'_>) -> u32 {
        let mapping = frame.lib.map(|lib| self.mapping(lib));
        let is_kernel_category = |category: u32| self.kernel_categories.get(category as usize).copied();
        let mut is_kernel = frame.category.and_then(is_kernel_category).unwrap_or(false);
        if let Some(mapping) = mapping {
            let mapping = &mut self.profile.mappings[mapping as usize];
            mapping.is_kernel |= is_kernel;
            is_kernel = mapping.is_kernel;
        }
        // The profiler names functions without a name by their address.
        let is_named = frame.address.is_none_or(|address| frame.name != format!("{address:#x}"));
        let function = match (is_named, is_kernel) {
            (true, _) => Some(self.profile.function(frame.function)),
            (false, false) => None,
            // The symbols of the running kernel would be looked up for an address that is not in it.
            (false, true) => {
                let name = self.profile.name("[unknown]");
                Some(self.profile.function(SourceFunction::named(name)))
            }
        };
        let has_place = mapping.is_some() && !frame.is_inlined || function.is_none();
        let frame = SourceFrame {
            mapping,
            address: frame.address.filter(|_| has_place).map(u64::from),
            function,
            line: frame.line.into(),
            column: frame.column.into(),
            is_inlined: frame.is_inlined,
            is_kernel,
            ..SourceFrame::default()
        };
        *self.frame_ids.entry(frame).or_insert_with(|| {
            self.unnamed += u64::from(function.is_none() && mapping.is_some());
            self.profile.frames.push(frame);
            self.profile.frames.len() as u32 - 1
        })
    }

    /// The mapping of a library.
    fn mapping(&mut self, lib: u32) -> u32 {
        let Self { profile, libs, mappings, .. } = self;
        let ImportedLib { path, code_id } = &libs[lib as usize];
        *mappings.entry((&**path, code_id.as_deref())).or_insert_with(|| {
            let path = Bytes::from(path.replace('\0', ""));
            let is_kernel = SourceMapping::is_kernel_name(&path);
            let build_id = code_id.as_ref().and_then(build_id);
            profile.mappings.push(SourceMapping { path, is_kernel, build_id, ..SourceMapping::default() });
            profile.mappings.len() as u32 - 1
        })
    }

    /// Maps the libraries, of which the profile has only addresses in them.
    pub(super) fn finish(mut self, is_own: bool) -> SourceProfile {
        let mut ends = vec![0; self.profile.mappings.len()];
        for frame in &self.profile.frames {
            if let (Some(mapping), Some(address)) = (frame.mapping, frame.address) {
                let end = &mut ends[mapping as usize];
                *end = u64::max(*end, address + 2);
            }
        }
        let (mut user, mut kernel) = (USER.start, KERNEL.start);
        for (mapping, end) in self.profile.mappings.iter_mut().zip(ends) {
            let (next, limit) = if mapping.is_kernel { (&mut kernel, KERNEL.end) } else { (&mut user, USER.end) };
            let len = u64::next_multiple_of(end, PAGE);
            if end > 0 && limit - *next > len {
                (mapping.start, mapping.limit) = (*next, *next + len);
                *next += len + PAGE.min(limit - *next - len);
            }
        }
        for frame in &mut self.profile.frames {
            if let (Some(mapping), Some(address)) = (frame.mapping, frame.address) {
                let mapping = &self.profile.mappings[mapping as usize];
                frame.address = (mapping.start > 0).then(|| mapping.start + address);
            }
        }
        let inlined = self.profile.frames.iter().filter(|frame| frame.is_inlined).count();
        let lost = &mut self.profile.lost_in_recording;
        if inlined > 0 {
            lost.push(format!("{inlined} inlined frames became ordinary frames"));
        }
        if self.unnamed > 0 && !is_own {
            lost.push(format!("addresses of {} frames without functions are taken as offsets in files", self.unnamed));
        }
        self.profile
    }
}

/// A build ID, if it is that of an ELF file.
fn build_id(code_id: &JsonText<'_>) -> Option<Bytes> {
    hex::from_hex(code_id.as_bytes()).filter(|id| (1..=20).contains(&id.len())).map(Bytes::from)
}
