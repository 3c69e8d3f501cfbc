//! Keeps samples in certain mapped files: `--dso`.

use super::not_found::{Noun, missing_field, value_not_found};
use super::pass::{Filter, FilteredSample};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass::PreScanOrder;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use perf_data::error::Result;
use perf_data::session::Session;
use perf_data::session::map::{Map, MapId};
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::collections::BTreeSet;

/// Keeps samples in certain files.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Dso {
    /// Keep only samples in these files, by path or name, separated by commas.
    #[cfg_attr(feature = "cli", arg(long = "dso", id = "dso", value_name = "FILES", value_delimiter = ',', value_parser = crate::option_values::name))]
    pub files: Vec<String>,
}

impl Dso {
    /// The filter of these.
    pub fn new(files: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { files: files.into_iter().map(Into::into).collect() }
    }
}

impl PassOptions for Dso {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(DsoFilter::new(self.files.clone()))
    }
}

/// perf's name for the DSO of an unmapped address.
const UNKNOWN: &str = "[unknown]";

/// Keeps samples whose instruction pointer is in certain files.
pub struct DsoFilter {
    wanted: Vec<String>,
    session: Session,
    /// By mapping number, for mappings that contain samples: whether the mapping is wanted.
    decisions: Vec<Option<bool>>,
    has_unmapped: bool,
    without_field: u64,
}

impl DsoFilter {
    /// Creates a filter of these files: a path, or a file name without directories; for kernel modules also `[NAME]`, for the
    /// kernel `[kernel.kallsyms]`, and `[unknown]` for unmapped addresses.
    pub fn new(wanted: Vec<String>) -> Self {
        Self { wanted, session: Session::default(), decisions: Vec::new(), has_unmapped: false, without_field: 0 }
    }

    fn is_wanted(&mut self, id: MapId) -> bool {
        let index = id.0 as usize;
        if self.decisions.len() <= index {
            self.decisions.resize(index + 1, None);
        }
        let (wanted, map) = (&self.wanted, self.session.map(id));
        *self.decisions[index].get_or_insert_with(|| wanted.iter().any(|wanted| has_name(map, wanted)))
    }

    /// The mappings that contain samples.
    fn hit(&self) -> impl Iterator<Item = &Map> {
        let decided = self.decisions.iter().enumerate().filter(|(_, decision)| decision.is_some());
        decided.map(|(index, _)| self.session.map(MapId(index as u32)))
    }
}

/// Whether a mapping's file has this name.
fn has_name(map: &Map, wanted: &str) -> bool {
    let (path, wanted) = (&map.filename[..], wanted.as_bytes());
    if map.is_kernel() {
        return matches!(wanted, b"[kernel.kallsyms]" | b"[kernel]") || path == wanted;
    }
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let module = wanted.strip_prefix(b"[").and_then(|wanted| wanted.strip_suffix(b"]"));
    let is_module = |module: &[u8]| name.strip_prefix(module).is_some_and(|rest| rest.starts_with(b".ko"));
    path == wanted || name == wanted || module.is_some_and(is_module)
}

impl Filter for DsoFilter {
    fn option(&self) -> &'static str {
        "--dso"
    }

    fn order(&self) -> PreScanOrder {
        PreScanOrder::Time
    }

    fn begin(&mut self, _: &Meta) {
        // Each pass over the records numbers the mappings anew.
        *self = Self::new(std::mem::take(&mut self.wanted));
    }

    fn other(&mut self, meta: &Meta, raw: &Raw<'_>) {
        self.session.apply(meta, raw);
    }

    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool {
        let (Some(ip), Some((pid, _))) = (sample.view.ip, sample.view.task) else {
            self.without_field += 1;
            return false;
        };
        let space = Space::from(sample.mode);
        match self.session.map_at(pid, space, ip) {
            Some(id) => self.is_wanted(id),
            None => {
                self.has_unmapped = true;
                self.wanted.iter().any(|wanted| wanted == UNKNOWN)
            }
        }
    }

    fn check(&mut self, meta: &Meta) -> Result<()> {
        if self.without_field > 0 {
            return Err(missing_field(meta, self.option(), "a process or an instruction pointer", self.without_field));
        }
        let is_hit =
            |wanted: &&String| self.hit().any(|map| has_name(map, wanted)) || self.has_unmapped && *wanted == UNKNOWN;
        match self.wanted.iter().find(|wanted| !is_hit(wanted)) {
            Some(missing) => {
                let unmapped = self.has_unmapped.then(|| UNKNOWN.into());
                let seen: BTreeSet<_> =
                    self.hit().map(|map| String::from_utf8_lossy(&map.filename)).chain(unmapped).collect();
                let noun = Noun { singular: "file", plural: "files", is_text: true };
                Err(value_not_found(meta, self.option(), noun, missing, seen.into_iter()))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_path_or_a_file_name() {
        for (path, wanted, is) in [
            ("/usr/lib/libc.so.6", "libc.so.6", true),
            ("/usr/lib/libc.so.6", "/usr/lib/libc.so.6", true),
            ("/usr/lib/libc.so.6", "libc", false),
            ("[kernel.kallsyms]_text", "[kernel.kallsyms]", true),
            ("[kernel.kallsyms]_text", "[kernel]", true),
            ("/lib/modules/6.1/kernel/fs/ext4.ko.xz", "[ext4]", true),
            ("/lib/modules/6.1/kernel/fs/ext4.ko", "[ext]", false),
            ("[vdso]", "[vdso]", true),
            ("[vdso]", "[kernel]", false),
        ] {
            assert_eq!(has_name(&Map::new(0, 1, 0, path.as_bytes(), None), wanted), is, "{path} {wanted}");
        }
    }
}
