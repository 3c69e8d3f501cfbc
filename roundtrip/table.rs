//! Table of counts by kind of definition.

use std::collections::BTreeMap;
use std::fmt;

/// Counts of one kind.
#[derive(Default)]
pub(crate) struct Row {
    /// Instances.
    pub instances: u64,
    /// Instances whose encoding equals the bytes read.
    pub exact: u64,
    /// Instances that match no definition.
    pub opaque: u64,
    /// Bytes of all instances.
    pub bytes: u64,
    /// Bytes of opaque instances.
    pub opaque_bytes: u64,
    /// Zeros beyond the definition.
    pub padding: u64,
    /// Other bytes beyond the definition.
    pub tail: u64,
}

/// Rows by name.
#[derive(Default)]
pub(crate) struct Table(pub BTreeMap<String, Row>);

impl Table {
    /// Counts an instance.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8], written: &[u8], opaque: bool, tail: &[u8]) {
        let row = self.0.entry(name.to_owned()).or_default();
        row.instances += 1;
        row.exact += u64::from(bytes == written);
        row.opaque += u64::from(opaque);
        row.bytes += bytes.len() as u64;
        row.opaque_bytes += if opaque { bytes.len() as u64 } else { 0 };
        let beyond = if tail.iter().all(|&byte| byte == 0) { &mut row.padding } else { &mut row.tail };
        *beyond += tail.len() as u64;
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = ["instances", "exact", "opaque", "bytes", "opaque bytes", "zero padding", "tail"];
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
