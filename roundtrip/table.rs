//! What was counted, by kind of thing.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of one kind of thing.
#[derive(Default)]
pub struct Row {
    /// How many there were.
    pub instances: u64,
    /// How many were written as the bytes that they were read from.
    pub exact: u64,
    /// How many no definition fitted.
    pub opaque: u64,
    /// Bytes of all instances.
    pub bytes: u64,
    /// Of those, bytes of opaque instances.
    pub opaque_bytes: u64,
    /// Of those, zeros behind what the definition covers.
    pub padding: u64,
    /// Of those, other bytes behind what the definition covers.
    pub tail: u64,
}

/// Rows by name.
#[derive(Default)]
pub struct Table(pub BTreeMap<String, Row>);

impl Table {
    /// Counts an instance.
    pub fn add(&mut self, name: &str, bytes: &[u8], written: &[u8], opaque: bool, tail: &[u8]) {
        let row = self.0.entry(name.to_owned()).or_default();
        row.instances += 1;
        row.exact += u64::from(bytes == written);
        row.opaque += u64::from(opaque);
        row.bytes += bytes.len() as u64;
        row.opaque_bytes += if opaque { bytes.len() as u64 } else { 0 };
        let behind = if tail.iter().all(|&byte| byte == 0) { &mut row.padding } else { &mut row.tail };
        *behind += tail.len() as u64;
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = ["instances", "exact", "opaque", "bytes", "opaque bytes", "zeros behind", "other behind"];
        let line = |f: &mut fmt::Formatter<'_>, name: &str, cells: &[String]| {
            write!(f, "{name:24}")?;
            cells.iter().try_for_each(|cell| write!(f, "{cell:>14}"))?;
            writeln!(f)
        };
        line(f, "", &titles.map(str::to_owned))?;
        for (name, row) in &self.0 {
            let numbers = [row.instances, row.exact, row.opaque, row.bytes, row.opaque_bytes, row.padding, row.tail];
            line(f, name, &numbers.map(|number| number.to_string()))?;
        }
        Ok(())
    }
}
