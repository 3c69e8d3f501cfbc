//! Other readers of perf.data that are libraries.

use linux_perf_data::linux_perf_event_reader::RecordType as TheirType;
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// A reader: the number of samples, or an error; `None` if it is not installed.
pub(crate) type Reader = fn(&Path) -> Option<Result<u64, String>>;

pub(crate) fn linux_perf_data(path: &Path) -> Option<Result<u64, String>> {
    let count = || -> Result<u64, Box<dyn std::error::Error>> {
        let PerfFileReader { mut perf_file, mut record_iter } =
            PerfFileReader::parse_file(BufReader::new(File::open(path)?))?;
        let mut samples = 0;
        while let Some(record) = record_iter.next_record(&mut perf_file)? {
            match record {
                PerfFileRecord::EventRecord { record, .. } => {
                    samples += u64::from(record.record_type == TheirType::SAMPLE);
                    record.parse()?;
                }
                PerfFileRecord::UserRecord(record) => drop(record.parse()?),
            }
        }
        Ok(samples)
    };
    Some(count().map_err(|error| error.to_string()))
}
