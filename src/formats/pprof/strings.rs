//! The string table of a profile.

use hashbrown::HashMap;

/// Strings by number; number 0 is the empty string.
pub struct Strings {
    list: Vec<String>,
    ids: HashMap<String, i64>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { list: vec![String::new()], ids: HashMap::from_iter([(String::new(), 0)]) }
    }
}

impl Strings {
    /// The number of a string.
    pub fn id(&mut self, string: &str) -> i64 {
        *self.ids.entry_ref(string).or_insert_with(|| {
            self.list.push(string.to_owned());
            self.list.len() as i64 - 1
        })
    }

    /// The strings in the order of their numbers.
    pub fn into_list(self) -> Vec<String> {
        self.list
    }
}
