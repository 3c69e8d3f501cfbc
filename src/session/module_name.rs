//! Names of kernel modules.

use crate::stream::meta::Meta;
use hashbrown::HashSet;
use std::path::Path;

/// The name of a module as kallsyms has it, `nf_nat`, from `[nf_nat]` or the path of its file; `None` if it is no module.
pub fn module_name(path: &Path) -> Option<String> {
    const OTHERS: [&str; 6] = ["vdso", "vsyscall", "heap", "stack", "anon", "uprobes"];
    let text = path.to_str()?;
    if let Some(name) = text.strip_prefix('[') {
        let name = name.strip_suffix(']')?;
        let is_module = !name.contains('[') && !OTHERS.iter().any(|other| name.starts_with(other));
        return is_module.then(|| name.to_owned());
    }
    let (stem, suffix) = path.file_name()?.to_str()?.split_once(".ko")?;
    (suffix.is_empty() || suffix.starts_with('.')).then(|| stem.replace('-', "_"))
}

/// The modules in a recording's table of build IDs. perf names the others as kallsyms does.
#[derive(Debug)]
pub struct ListedModules(HashSet<String>);

impl ListedModules {
    /// Reads the table.
    pub fn new(meta: &Meta) -> Self {
        let names = meta.build_ids();
        let names = names.iter().filter_map(|(_, build_id)| str::from_utf8(build_id.filename.text()).ok());
        Self(names.filter_map(|name| module_name(Path::new(name))).collect())
    }

    /// The name of a module that is not in the table, from the path of its file.
    pub fn unlisted(&self, path: &str) -> Option<String> {
        let name = module_name(Path::new(path)).filter(|_| path.starts_with('/'))?;
        (!self.0.contains(&name)).then(|| format!("[{name}]"))
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
    fn modules_without_an_entry_have_short_names() {
        let listed = ListedModules(HashSet::from(["nf_nat".to_owned()]));
        assert_eq!(listed.unlisted("/lib/modules/3.4/usbnet.ko").as_deref(), Some("[usbnet]"));
        assert_eq!(listed.unlisted("/lib/modules/6.1/fs/nf-nat.ko.xz"), None);
        assert_eq!(listed.unlisted("[usbnet]"), None);
        assert_eq!(listed.unlisted("/bin/ls"), None);
    }
}
