//! Names that users give to cgroups.

use hashbrown::HashMap;
use perf_data::error::{Error, Result};
use perf_data::session::Session;
use perf_data::session::names::NameId;
use std::fs;
use std::path::Path;

/// Names of cgroups, by path or ID.
#[derive(Clone, Debug, Default)]
pub struct CgroupNames {
    by_path: HashMap<Vec<u8>, String>,
    by_id: HashMap<u64, String>,
}

impl CgroupNames {
    /// Reads a file with the path or ID of a cgroup and, after white space, its name on each line. Empty lines, and those that begin
    /// with `#`, are ignored.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is invalid.
    pub fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(Error::io(&name, "cannot read"))?;
        Self::parse(&text).map_err(|problem| Error::input(name, None, problem))
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut names = Self::default();
        let lines = (1..).zip(text.lines().map(str::trim));
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let invalid = || format!("line {number}: expected the path or ID of a cgroup and its name, found '{line}'");
            let (cgroup, name) = line.split_once(char::is_whitespace).ok_or_else(invalid)?;
            let name = name.trim_start().to_owned();
            let is_repeated = if cgroup.starts_with('/') {
                names.by_path.insert(cgroup.as_bytes().to_vec(), name).is_some()
            } else {
                let id = cgroup.parse().map_err(|_| invalid())?;
                names.by_id.insert(id, name).is_some()
            };
            if is_repeated {
                return Err(format!("line {number}: '{cgroup}' has a name already"));
            }
        }
        Ok(names)
    }

    /// What a cgroup is called: its name, or else its path, if that was recorded.
    pub(crate) fn name(&self, id: u64, session: &mut Session) -> Option<NameId> {
        let path = session.cgroup_path(id);
        let by_path = || self.by_path.get(session.names.name(path?));
        match self.by_id.get(&id).or_else(by_path) {
            Some(name) => Some(session.names.id(name.as_bytes())),
            None => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_by_path_or_id() {
        let names = CgroupNames::parse("# containers\n\n/a  web server\n 7\tdatabase \n").unwrap();
        assert_eq!(names.by_path.get(&b"/a"[..]).map(String::as_str), Some("web server"));
        assert_eq!(names.by_id.get(&7).map(String::as_str), Some("database"));
        let mut session = Session::default();
        assert_eq!(names.name(8, &mut session), None);
        let id = names.name(7, &mut session).unwrap();
        assert_eq!(session.names.name(id), b"database");
    }

    #[test]
    fn invalid_lines_are_numbered() {
        for (text, expected) in [
            ("/a b\n/c", "line 2: expected the path or ID of a cgroup and its name, found '/c'"),
            ("a b", "line 1: expected the path or ID of a cgroup and its name, found 'a b'"),
            ("/a b\n\n/a c", "line 3: '/a' has a name already"),
        ] {
            assert_eq!(CgroupNames::parse(text).unwrap_err(), expected);
        }
    }
}
