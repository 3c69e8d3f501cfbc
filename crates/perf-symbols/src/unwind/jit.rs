//! Code compiled at run time, with the CFI of its jitdump.

use crate::object::image::{Image, ImageFunction};
use crate::object::machine;
use crate::symbol::find::SearchOptions;
use crate::symbol::jit_dump::{JitDumpSource, JitFunctions};
use crate::symbol::object::Object;
use crate::symbol::source::ObjectKey;
use std::path::Path;
use std::sync::Arc;

/// The functions that a process compiled. Those with CFI are in an ELF image in memory.
#[derive(Debug)]
pub(crate) struct JitCode {
    functions: JitFunctions,
    /// Address of each function in the image, if it has CFI.
    image_addresses: Vec<Option<u64>>,
}

impl JitCode {
    /// The code of memory, and its image; `None` if there is no jitdump with CFI.
    pub(crate) fn find(options: &Arc<SearchOptions>, key: &ObjectKey) -> Option<(Self, Object)> {
        let dump = JitDumpSource::new(Arc::clone(options)).dump(key, &mut Vec::new())?;
        let end = dump.events.iter().map(|event| event.address).max().unwrap_or(0);
        let target = machine::target(machine::for_jit_dump(dump.header.elf_mach, None), dump.endian, end);
        let (functions, mut image) = (JitFunctions::new(dump), Image::new(target));
        let add_to_image = |function: &ImageFunction| match function.eh_frame.is_empty() {
            true => None,
            false => image.push(function.clone()),
        };
        let image_addresses: Vec<_> = functions.list().iter().map(add_to_image).collect();
        if image_addresses.iter().all(Option::is_none) {
            return None;
        }
        let mut file = Vec::new();
        image.write(&mut file).ok()?;
        Some((Self { functions, image_addresses }, Object::parse(Path::new(""), file.into())?))
    }

    /// The address in the image of an address of the process.
    pub(crate) fn address(&self, address: u64) -> Option<u64> {
        let (function, offset) = self.functions.find(address)?;
        Some((*self.image_addresses.get(function)?)? + offset)
    }
}
