//! Sums of text profiles for compilers and binary optimizers: those of the formats bolt, profgen, autofdo and llvm, of one object.

use crate::branches::source_profile::SourceProfile;
use crate::formats::llvm::{add_text, write_text};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// A format whose profiles can be added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummedFormat {
    /// Records of BOLT.
    Bolt,
    /// Ranges and branches of llvm-profgen.
    Profgen,
    /// Ranges, addresses and branches of AutoFDO.
    Autofdo,
    /// Functions of LLVM, as text.
    Llvm,
}

impl SummedFormat {
    /// The format of a file, by its extension.
    pub fn from_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "preagg" => Some(Self::Bolt),
            "unsymbolized" => Some(Self::Profgen),
            "autofdo" => Some(Self::Autofdo),
            "sampleprof" => Some(Self::Llvm),
            _ => None,
        }
    }

    /// The separators of addresses in the lists of a profile.
    fn lists(self) -> &'static [&'static str] {
        match self {
            Self::Bolt | Self::Llvm => &[],
            Self::Profgen => &["-", "->"],
            Self::Autofdo => &["-", "", "->"],
        }
    }
}

/// Records of BOLT, in the order in which they are written, with the number of addresses and the largest number of counts.
const RECORDS: [(&str, usize, usize); 7] =
    [("B", 2, 2), ("F", 2, 1), ("f", 2, 1), ("r", 2, 1), ("R", 3, 2), ("T", 3, 2), ("S", 1, 1)];

/// Maximum length of a line. Lines of these formats have less than a hundred bytes.
const LINE: u64 = 4096;

/// List or record, and addresses; `None` outside of the object.
type LineKey = (usize, [Option<u64>; 3]);

/// Sums of profiles.
#[derive(Debug)]
pub struct ProfileSum {
    format: SummedFormat,
    counts: BTreeMap<LineKey, (u64, Option<u64>)>,
    /// Functions of LLVM.
    profile: SourceProfile,
    events: BTreeSet<String>,
    /// The build ID in a file name, and the name.
    build_id: Option<(String, PathBuf)>,
    files: u64,
    /// Lines that could not be read, and the first of them.
    skipped: (u64, Option<String>),
    /// Functions whose control flow differs from that in an earlier file.
    different: u64,
}

impl ProfileSum {
    /// Begins without profiles.
    pub fn new(format: SummedFormat) -> Self {
        let (counts, events, profile) = (BTreeMap::new(), BTreeSet::new(), SourceProfile::default());
        Self { format, counts, profile, events, build_id: None, files: 0, skipped: (0, None), different: 0 }
    }

    /// Adds a profile. Lines that cannot be read are skipped.
    ///
    /// # Errors
    /// If the file cannot be read, none of its lines can, it is of another format, or its name has another build ID.
    pub fn add_file(&mut self, path: &Path) -> Result<()> {
        let name = path.display().to_string();
        if SummedFormat::from_path(path) != Some(self.format) {
            let problem = "is not a profile of the same format, by its extension; add up those of one format at a time";
            return Err(Error::incompatible(format!("{name}: {problem}")));
        }
        if let Some(id) = build_id(path) {
            match &self.build_id {
                Some((other, first)) if *other != id => {
                    let first = first.display();
                    return Err(Error::incompatible(format!(
                        "{name} and {first} have different build IDs, {id} and {other}; add up profiles of one build only"
                    )));
                }
                Some(_) => {}
                None => self.build_id = Some((id, path.to_owned())),
            }
        }
        let file = File::open(path).map_err(Error::io(&name, "cannot open"))?;
        self.files += 1;
        self.add(&name, &mut BufReader::new(file))
    }

    /// Adds a profile that is read from a stream; `name` is used in messages.
    ///
    /// # Errors
    /// If it cannot be read, or none of its lines can.
    pub fn add(&mut self, name: &str, input: &mut dyn BufRead) -> Result<()> {
        if self.format == SummedFormat::Llvm {
            let (lines, first) = &mut self.skipped;
            self.different += add_text(&mut self.profile, name, input, &mut |number| {
                *lines += 1;
                first.get_or_insert_with(|| format!("{name}: line {number}"));
            })?;
            return Ok(());
        }
        let (mut line, mut number, mut list, mut read) = (Vec::new(), 0_u64, 0, 0_u64);
        loop {
            line.clear();
            let len = input.take(LINE).read_until(b'\n', &mut line).map_err(Error::io(name, "cannot read"))?;
            if len == 0 {
                break;
            }
            number += 1;
            let text = str::from_utf8(&line).map(str::trim).unwrap_or("?");
            if text.is_empty() || text.starts_with("//") {
                continue;
            }
            let added = match self.format {
                SummedFormat::Bolt => self.record(text),
                format => match text.parse::<u64>() {
                    Ok(_) => {
                        list += 1;
                        (list <= format.lists().len()).then_some(())
                    }
                    Err(_) => self.pair(list, text),
                },
            };
            match added {
                Some(()) => read += 1,
                None => {
                    self.skipped.0 += 1;
                    self.skipped.1.get_or_insert_with(|| format!("{name}: line {number}"));
                }
            }
        }
        if read == 0 && number > 0 {
            return Err(Error::input(name, None, "no line is of such a profile"));
        }
        Ok(())
    }

    /// Adds a line of a list: `START-END:COUNT`.
    fn pair(&mut self, list: usize, text: &str) -> Option<()> {
        let index = list.checked_sub(1)?;
        let separator = self.format.lists().get(index)?;
        let (addresses, count) = text.split_once(':')?;
        let address = |text| u64::from_str_radix(text, 16).ok();
        let (first, second) = match *separator {
            "" => (address(addresses)?, None),
            separator => {
                let (first, second) = addresses.split_once(separator)?;
                (address(first)?, Some(address(second)?))
            }
        };
        self.add_counts((index, [Some(first), second, None]), count.parse().ok()?, None);
        Some(())
    }

    /// Adds a record of BOLT.
    fn record(&mut self, text: &str) -> Option<()> {
        let mut words = text.split_ascii_whitespace();
        let kind = words.next()?;
        if kind == "E" {
            self.events.insert(words.next()?.to_owned());
            return Some(());
        }
        let index = RECORDS.iter().position(|(record, ..)| *record == kind)?;
        let (_, addresses, counts) = RECORDS[index];
        let mut key = (index, [None; 3]);
        for address in key.1.iter_mut().take(addresses) {
            *address = match words.next()? {
                "X:0" => None,
                word => Some(u64::from_str_radix(word, 16).ok()?),
            };
        }
        let count = words.next()?.parse().ok()?;
        let mispredicted = words.next().map(str::parse).transpose().ok()?;
        let is_whole = words.next().is_none() && (mispredicted.is_none() || counts == 2);
        is_whole.then(|| self.add_counts(key, count, mispredicted))
    }

    fn add_counts(&mut self, key: LineKey, count: u64, mispredicted: Option<u64>) {
        let (sum, sum_mispredicted) = self.counts.entry(key).or_insert((0, mispredicted.map(|_| 0)));
        *sum = sum.saturating_add(count);
        *sum_mispredicted = sum_mispredicted.zip(mispredicted).map(|(sum, more): (u64, u64)| sum.saturating_add(more));
    }

    /// Writes the sums, in the order in which they are written for one recording.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            SummedFormat::Bolt => return self.write_records(out),
            SummedFormat::Llvm => {
                self.profile = std::mem::take(&mut self.profile).with_sorted_names();
                return write_text(&self.profile, out);
            }
            _ => {}
        }
        for (index, separator) in self.format.lists().iter().enumerate() {
            let list = || self.counts.range((index, [None; 3])..(index + 1, [None; 3]));
            writeln!(out, "{}", list().count())?;
            for ((_, addresses), (count, _)) in list() {
                let [first, second, _] = addresses.map(Option::unwrap_or_default);
                match *separator {
                    "" => writeln!(out, "{first:x}:{count}")?,
                    separator => writeln!(out, "{first:x}{separator}{second:x}:{count}")?,
                }
            }
        }
        Ok(())
    }

    fn write_records(&self, out: &mut dyn Write) -> io::Result<()> {
        for event in &self.events {
            writeln!(out, "E {event}")?;
        }
        for ((index, addresses), (count, mispredicted)) in &self.counts {
            let (record, number, _) = RECORDS[*index];
            write!(out, "{record}")?;
            for address in &addresses[..number] {
                match address {
                    Some(address) => write!(out, " {address:x}")?,
                    None => write!(out, " X:0")?,
                }
            }
            write!(out, " {count}")?;
            match mispredicted {
                Some(mispredicted) => writeln!(out, " {mispredicted}")?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }

    /// What was added up.
    pub fn summary(&self) -> String {
        counted(self.files, "profile")
    }

    /// Warnings: lines that were skipped, and that the build is not known to be the same.
    pub fn warnings(&self) -> Vec<String> {
        let (skipped, first) = &self.skipped;
        let skipped =
            first.as_ref().map(|first| format!("{} skipped; the first is {first}", counted(*skipped, "line")));
        let unknown = (self.build_id.is_none() && self.files > 1).then(|| {
            "no file name has a build ID, so that profiles of different builds are not noticed; --all-binaries names files by it"
                .to_owned()
        });
        let different = (self.different > 0).then(|| {
            format!(
                "{} skipped whose control flow differs from that in an earlier file; add up profiles of one build only",
                counted(self.different, "function")
            )
        });
        skipped.into_iter().chain(different).chain(unknown).collect()
    }
}

/// The build ID at the end of a file name before its extension.
fn build_id(path: &Path) -> Option<String> {
    let (_, id) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    const LEN: usize = 16;
    (id.len() >= LEN && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(format: SummedFormat, inputs: &[&str]) -> (String, u64) {
        let mut sum = ProfileSum::new(format);
        inputs.iter().for_each(|input| sum.add("x", &mut input.as_bytes()).unwrap());
        let mut out = Vec::new();
        sum.write(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), sum.skipped.0)
    }

    #[test]
    fn records_and_lists_are_added_up() {
        let bolt = "E cycles:u\nB X:0 1f 3 1\nF 1f 20 7\nT 20 1f ffffffffffffffff 2\nS 5 1\n";
        let doubled = "E cycles:u\nB X:0 1f 6 2\nF 1f 20 14\nT 20 1f ffffffffffffffff 4\nS 5 2\n";
        assert_eq!(sum(SummedFormat::Bolt, &[bolt, bolt]), (doubled.to_owned(), 0));
        let profgen = "1\n10-20:3\n2\n20->10:4\nfffffffffffff001->10:1\n";
        assert_eq!(sum(SummedFormat::Profgen, &[profgen]), (profgen.to_owned(), 0));
        let autofdo = "1\n10-20:3\n1\n10:2\n1\n20->10:4\n// build_id: 0x1\n";
        let summed = "2\n10-20:6\n30-31:1\n1\n10:4\n1\n20->10:8\n";
        assert_eq!(sum(SummedFormat::Autofdo, &[autofdo, autofdo, "1\n30-31:1\n0\n0\n"]), (summed.to_owned(), 0));
    }

    #[test]
    fn functions_of_llvm_are_added_up() {
        let text = "main:40:2\n 1: 7\n 2.3: 5 _Z1fv:3 g:2\n 4: h:20\n  1: 9\n  !CFGChecksum: 5\n !CFGChecksum: 8\n !Attributes: 1\ng:3:1\n 0: 3\n";
        assert_eq!(sum(SummedFormat::Llvm, &[text]), (text.to_owned(), 0));
        let doubled = "main:80:4\n 1: 14\n 2.3: 10 _Z1fv:6 g:4\n 4: h:40\n  1: 18\n  !CFGChecksum: 5\n !CFGChecksum: 8\n !Attributes: 1\ng:6:2\n 0: 6\n";
        assert_eq!(sum(SummedFormat::Llvm, &[text, text]), (doubled.to_owned(), 0));
        let odd = "f:1:1\n   1: 2\n x: 3\n 1.2.3: 4\n !Other: 5\n 1: 4 g\n";
        assert_eq!(sum(SummedFormat::Llvm, &[odd, "# comment\n"]), ("f:1:1\n".to_owned(), 5));
        let mut two = ProfileSum::new(SummedFormat::Llvm);
        for checksum in [1, 2] {
            two.add("x", &mut format!("f:1:1\n 1: 1\n !CFGChecksum: {checksum}\n").as_bytes()).unwrap();
        }
        assert_eq!((two.different, two.warnings()[0].starts_with("1 function skipped")), (1, true));
        let binary = ProfileSum::new(SummedFormat::Llvm).add("x", &mut &b"\x84\xe4\xd0"[..]).unwrap_err();
        assert!(binary.to_string().contains("--llvm-format text"), "{binary}");
    }

    #[test]
    fn other_lines_are_skipped() {
        let odd = "B 1 2 3 4 5\nF 1 2 3 4\nQ 1\nB 1 z 3\nB 1 2\nB 1 2 18446744073709551615\nB 1 2 7\n";
        assert_eq!(sum(SummedFormat::Bolt, &[odd]), ("B 1 2 18446744073709551615\n".to_owned(), 5));
        assert_eq!(sum(SummedFormat::Profgen, &["[main]\n1\n1-2:3\n0\n9\n1:2\n"]), ("1\n1-2:3\n0\n".to_owned(), 3));
        let none = ProfileSum::new(SummedFormat::Bolt).add("x", &mut &b"PERFILE2"[..]);
        assert_eq!(none.unwrap_err().to_string(), "x: no line is of such a profile");
    }

    #[test]
    fn a_file_name_has_the_build_id() {
        let id = |name: &str| build_id(Path::new(name));
        assert_eq!(id("/x/app-1-5d54abe39ef28d6b.preagg"), Some("5d54abe39ef28d6b".to_owned()));
        assert_eq!(
            [id("app.preagg"), id("app-2024.preagg"), id("app-config-file-number-one.preagg")],
            [None, None, None]
        );
    }
}
