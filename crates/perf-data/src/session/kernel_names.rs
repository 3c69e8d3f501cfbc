//! Names of the kernel and its modules.

use super::map::Map;
use crate::abi::record::CpuMode;
use crate::stream::meta::Meta;
use hashbrown::HashSet;
use std::borrow::Cow;
use std::path::Path;

/// The name of a module as kallsyms has it, `nf_nat`, from `[nf_nat]` or the path of its file; `None` if it is no module.
pub fn module_name(path: &Path) -> Option<String> {
    /// Beginnings of the names of memory that is no module, which are in brackets, too.
    const MEMORY: [&str; 6] = ["vdso", "vsyscall", "heap", "stack", "anon", "uprobes"];
    let text = path.to_str()?;
    if let Some(name) = text.strip_prefix('[') {
        let name = name.strip_suffix(']')?;
        let is_module = !name.contains('[') && !MEMORY.iter().any(|memory| name.starts_with(memory));
        return is_module.then(|| name.to_owned());
    }
    let (stem, suffix) = path.file_name()?.to_str()?.split_once(".ko")?;
    (suffix.is_empty() || suffix.starts_with('.')).then(|| stem.replace('-', "_"))
}

/// The kernel and the modules in a recording's table of build IDs, by which perf names both.
#[derive(Debug, Default)]
pub struct ListedKernel {
    /// The file of the kernel, such as `/tmp/vmlinux` if perf was given one.
    image: Option<String>,
    modules: HashSet<String>,
}

impl ListedKernel {
    /// Reads the table.
    pub fn new(meta: &Meta) -> Self {
        let mut listed = Self::default();
        for (misc, build_id) in meta.build_ids() {
            let Ok(name) = str::from_utf8(build_id.filename.text()) else { continue };
            match module_name(Path::new(name)) {
                Some(module) => drop(listed.modules.insert(module)),
                None if misc.cpu_mode() == CpuMode::KERNEL && listed.image.is_none() => {
                    listed.image = Some(name.to_owned());
                }
                None => {}
            }
        }
        listed
    }

    /// The name that perf prints instead of the file of a mapping: that of the kernel, or of a module that is not in the table,
    /// as kallsyms has it.
    fn name(&self, map: &Map, file: &str) -> Option<Cow<'_, str>> {
        if map.is_kernel() {
            return self.image.as_deref().map(Cow::Borrowed);
        }
        if !file.starts_with('/') || !map.belongs_to_kernel() {
            return None;
        }
        let module = module_name(Path::new(file))?;
        (!self.modules.contains(&module)).then(|| format!("[{module}]").into())
    }

    /// The file of a mapping as perf script prints it, by its name in the table if there is one.
    pub fn printed_file<'a>(listed: Option<&'a Self>, map: &'a Map) -> Cow<'a, str> {
        let file = match map.printed_file() {
            Cow::Borrowed(file) => String::from_utf8_lossy(file),
            Cow::Owned(file) => String::from_utf8_lossy(&file).into_owned().into(),
        };
        listed.and_then(|listed| listed.name(map, &file)).unwrap_or(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules() {
        let name = |path: &str| module_name(Path::new(path));
        assert_eq!(name("/lib/modules/6.1/fs/nf-nat.ko.xz").as_deref(), Some("nf_nat"));
        assert_eq!(name("[nf_nat]").as_deref(), Some("nf_nat"));
        for other in ["[vdso]", "[heap]", "/lib/libkonfig.kore", "/bin/ls", "", "[kernel.kallsyms]_text"] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn the_table_names_the_kernel_and_modules_without_an_entry_have_short_names() {
        let map = |name: &str| Map::new(0xffff_ffff_c000_0000, 0x1000, 0, name.as_bytes(), None);
        let image = Some("/tmp/vmlinux".to_owned());
        let listed = ListedKernel { image, modules: HashSet::from(["nf_nat".to_owned()]) };
        let name = |file: &str| listed.name(&map(file), file);
        assert_eq!(name("[kernel.kallsyms]_text").as_deref(), Some("/tmp/vmlinux"));
        assert_eq!(name("/lib/modules/3.4/usbnet.ko").as_deref(), Some("[usbnet]"));
        for other in ["/lib/modules/6.1/fs/nf-nat.ko.xz", "[usbnet]", "/bin/ls"] {
            assert_eq!(name(other), None, "{other}");
        }
        assert_eq!(ListedKernel::default().name(&map("[kernel.kallsyms]_text"), "[kernel.kallsyms]"), None);
    }
}
