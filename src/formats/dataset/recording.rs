//! The row of a recording: what was recorded, where, and the ledger of its conversion.

use super::collect::End;
use super::column::{Columns, Structs, saturated};
use super::schema::{LedgerColumns, RecordingColumns, SCHEMA_VERSION};
use crate::formats::json;
use crate::rewrite::framework::disclosure::Disclosure;
use arrow_array::RecordBatch;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;

/// The row of a recording whose samples have these first and last times.
///
/// # Errors
/// If a feature has a kind of value that JSON Lines do not support.
pub(super) fn row(
    end: &End<'_>,
    times: Option<(u64, u64)>,
    disclosure: Disclosure,
    ledger: &Ledger,
) -> Result<RecordBatch> {
    let (mut columns, meta) = (RecordingColumns::default(), end.meta);
    let text = |id| meta.string(id);
    let command = meta.cmdline().map(|arguments| arguments.join(" "));
    let mut attrs = meta.events.list().iter().map(|event| &event.attr);
    let clock = attrs.find(|attr| attr.flags.contains(AttrFlags::USE_CLOCKID)).map(|attr| attr.clockid);
    let (first, last) = times.unzip();
    let samples = ledger.counts(RecordType::SAMPLE);
    columns.schema_version.push(Some(SCHEMA_VERSION));
    columns.perfconv.push(Some(env!("CARGO_PKG_VERSION")));
    // The path may name a person.
    let source = disclosure.bypassing(meta.files.first());
    columns.source.push(source.map(String::as_str));
    columns.host.push(text(FeatureId::HOSTNAME).as_deref());
    columns.command.push(command.as_deref());
    columns.kernel.push(text(FeatureId::OSRELEASE).as_deref());
    columns.arch.push(text(FeatureId::ARCH).as_deref());
    columns.cpu.push(text(FeatureId::CPUDESC).as_deref());
    columns.perf.push(text(FeatureId::VERSION).as_deref());
    columns.clock.push(clock);
    columns.first_time.push(first.map(saturated));
    columns.last_time.push(last.map(saturated));
    columns.first_timestamp.push(end.clock.utc(first));
    columns.last_timestamp.push(end.clock.utc(last));
    columns.samples.push(Some(saturated(samples.emitted)));
    columns.dropped.push(Some(saturated(samples.dropped())));
    columns.lost_records.push(Some(saturated(ledger.lost_records)));
    columns.lost_samples.push(Some(saturated(ledger.lost_samples)));
    let read = ledger.entries().iter().filter(|(_, entry)| entry.read > 0);
    columns.records.push(read.map(|(kind, entry)| (kind.to_string(), entry.read.to_string())));
    outcomes(&mut columns.ledger, ledger);
    columns.features.push(features(meta)?);
    Ok(columns.batch())
}

fn outcomes(columns: &mut Structs<LedgerColumns>, ledger: &Ledger) {
    let mut len = 0;
    for (kind, entry) in ledger.entries() {
        let mut outcome = |outcome, reason: Option<String>, count| {
            if count > 0 {
                len += 1;
                columns.rows.record.push(Some(&kind.to_string()));
                columns.rows.outcome.push(Some(outcome));
                columns.rows.reason.push(reason.as_deref());
                columns.rows.count.push(Some(saturated(count)));
            }
        };
        outcome("emitted", None, entry.emitted);
        outcome("consumed", None, entry.consumed);
        outcome("not applicable", None, entry.not_applicable);
        for (reason, &count) in &entry.dropped {
            outcome("dropped", Some(reason.to_string()), count);
        }
    }
    columns.end(Some(len));
}

/// Names and contents of the features.
fn features(meta: &Meta) -> Result<Vec<(String, String)>> {
    let content = |(id, bytes): (&FeatureId, &bytes::Bytes)| {
        let mut content = Vec::new();
        json::feature_content(&mut content, meta, *id, bytes).map_err(json::failed)?;
        Ok((id.to_string(), String::from_utf8_lossy(&content).into_owned()))
    };
    meta.features.iter().map(content).collect()
}
