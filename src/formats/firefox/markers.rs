//! Markers: tracepoints with their fields, waits and spans, and the time in which a thread ran.

use super::Clock;
use super::tables::{OTHER, SharedTables};
use crate::formats::framework::slices::{Slice, slice_name, slice_values};
use crate::formats::framework::tracks::{Track, own_values};
use crate::profile::Profile;
use crate::profile::timeline::Running;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;

/// How a marker's times are to be read.
mod phase {
    pub(super) const INSTANT: u32 = 0;
    pub(super) const INTERVAL: u32 = 1;
    pub(super) const INTERVAL_START: u32 = 2;
    pub(super) const INTERVAL_END: u32 = 3;
}

/// The markers of a thread.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Markers {
    length: usize,
    name: Vec<u32>,
    start_time: Vec<Option<f64>>,
    end_time: Vec<Option<f64>>,
    phase: Vec<u32>,
    category: Vec<u32>,
    data: Vec<Data>,
}

/// Fields of a marker.
#[derive(Serialize)]
#[serde(tag = "type")]
enum Data {
    Tracepoint {
        fields: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    Interval {
        fields: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
    },
    Running {
        cpu: Option<u32>,
        reason: &'static str,
    },
}

#[derive(Serialize)]
struct Cause {
    time: f64,
    stack: u32,
}

/// The schemas of markers: where and with which fields they are shown.
pub(super) fn schemas() -> serde_json::Value {
    let display = ["marker-chart", "marker-table", "timeline-overview"];
    json!([
        {
            "name": "Tracepoint",
            "display": display,
            "chartLabel": "{marker.name}",
            "tableLabel": "{marker.data.fields}",
            "fields": [{ "key": "fields", "label": "Fields", "format": "string" }],
        },
        {
            "name": "Interval",
            "display": display,
            "chartLabel": "{marker.name}",
            "tooltipLabel": "{marker.name}",
            "tableLabel": "{marker.data.fields}",
            "fields": [{ "key": "fields", "label": "Fields", "format": "string" }],
        },
        {
            "name": "Running",
            "display": display,
            "tableLabel": "CPU {marker.data.cpu} {marker.data.reason}",
            "fields": [
                { "key": "cpu", "label": "CPU", "format": "integer" },
                { "key": "reason", "label": "Stopped", "format": "string" },
            ],
        },
    ])
}

impl Markers {
    /// The markers of samples of a tracepoint.
    pub(super) fn from_track(
        profile: &Profile,
        track: &Track,
        stacks: &[Option<u32>],
        clock: Clock,
        shared: &mut SharedTables<'_>,
    ) -> Self {
        let mut markers = Self::default();
        let tables = &*profile.tables;
        let Some(tracepoint) = tables.timeline.tracepoints.get(&track.event) else { return markers };
        let name = shared.string(Cow::Borrowed(&tables.events[track.event as usize].name));
        for &row in &track.rows {
            let occurrence = profile.occurrences[row as usize];
            let payload = occurrence.payload.map_or(&[][..], |payload| tables.names.name(payload));
            let fields: Vec<_> =
                own_values(tracepoint, payload).map(|(name, value)| format!("{name}={value}")).collect();
            let time = clock.milliseconds(occurrence.time);
            let cause = stacks[row as usize].map(|stack| Cause { time, stack });
            markers.add(name, (Some(time), None), phase::INSTANT, Data::Tracepoint { fields: fields.join(" "), cause });
        }
        markers
    }

    /// Adds the waits or spans of the thread.
    pub(super) fn add_slices(
        &mut self,
        profile: &Profile,
        slices: &[Slice],
        stacks: &[Option<u32>],
        clock: Clock,
        shared: &mut SharedTables<'_>,
    ) {
        let Some(intervals) = &profile.tables.timeline.intervals else { return };
        for &slice in slices {
            let name = shared.string(slice_name(profile, intervals, slice).into_owned().into());
            let fields = slice_values(profile, intervals, slice).map(|(name, value)| format!("{name}={value}"));
            let fields = fields.collect::<Vec<_>>().join(" ");
            let [start, end] = [slice.from, slice.to].map(|time| clock.milliseconds(time));
            let cause = stacks[slice.row as usize].map(|stack| Cause { time: start, stack });
            self.add(name, (Some(start), Some(end)), phase::INTERVAL, Data::Interval { fields, cause });
        }
    }

    /// Adds the times in which the thread ran.
    pub(super) fn add_running(&mut self, times: &[Running], clock: Clock, shared: &mut SharedTables<'_>) {
        let name = shared.string(Cow::Borrowed("Running"));
        for &Running { from, to, cpu, is_preempted } in times {
            let phase = match (from, to) {
                (Some(_), Some(_)) => phase::INTERVAL,
                (Some(_), None) => phase::INTERVAL_START,
                (None, _) => phase::INTERVAL_END,
            };
            let reason = match to {
                None => "",
                Some(_) if is_preempted => "preempted",
                Some(_) => "waits",
            };
            let milliseconds = |time: Option<u64>| time.map(|time| clock.milliseconds(time));
            self.add(name, (milliseconds(from), milliseconds(to)), phase, Data::Running { cpu, reason });
        }
    }

    fn add(&mut self, name: u32, (start, end): (Option<f64>, Option<f64>), phase: u32, data: Data) {
        self.length += 1;
        self.name.push(name);
        self.start_time.push(start);
        self.end_time.push(end);
        self.phase.push(phase);
        self.category.push(OTHER);
        self.data.push(data);
    }
}
