//! Perfetto traces, decoded by the schema that its Python package contains.

use super::programs;
use crate::common::files::{self, fixture};
use crate::common::program::{perfconv, succeed};
use crate::common::scenarios::{scenario, synth};
use crate::common::totals::{self, Totals};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Prints, as JSON, what a trace contains, after checks of the references between packets.
const READ: &str = r#"
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema
trace = schema.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
def unknown(message):
    from google.protobuf import unknown_fields
    if len(unknown_fields.UnknownFieldSet(message)): return True
    values = [v for f, v in message.ListFields() if f.type == f.TYPE_MESSAGE]
    return any(unknown(m) for v in values for m in ([v] if hasattr(v, "ListFields") else v))
assert not any(unknown(p) for p in trace.packet[:2000]), "unknown fields"
totals, stacks, interned, names, last, followers = {}, {}, {}, {}, {}, 0
processes, threads, switches, generic, wakeups, exits, clocks, snapshots = [], [], [], [], [], [], set(), []
tracks, slices, cleared = {}, [], set()
tables = ["function_names", "frames", "callstacks", "build_ids", "mapping_paths", "source_paths", "mappings"]
for packet in trace.packet:
    assert packet.trusted_packet_sequence_id > 0
    of = interned.setdefault(packet.trusted_packet_sequence_id, {table: {} for table in tables})
    if packet.sequence_flags & 1:
        defaults = packet.trace_packet_defaults.perf_sample_defaults
        names[packet.trusted_packet_sequence_id] = [defaults.timebase.name] + [f.name for f in defaults.followers]
        clocks.add(packet.trace_packet_defaults.timestamp_clock_id)
    for table in tables:
        for entry in getattr(packet.interned_data, table):
            assert entry.iid not in of[table], "sent twice"
            of[table][entry.iid] = entry
    for mapping in packet.interned_data.mappings:
        assert all(path in of["mapping_paths"] for path in mapping.path_string_ids)
        assert not mapping.build_id or mapping.build_id in of["build_ids"]
    for frame in packet.interned_data.frames:
        assert frame.mapping_id in of["mappings"]
        assert not frame.function_name_id or frame.function_name_id in of["function_names"]
        assert not frame.source_path_iid or frame.source_path_iid in of["source_paths"]
    for stack in packet.interned_data.callstacks:
        assert stack.frame_ids and all(frame in of["frames"] for frame in stack.frame_ids)
    if packet.HasField("perf_sample"):
        sample, sequence = packet.perf_sample, packet.trusted_packet_sequence_id
        assert packet.sequence_flags == 2 and packet.HasField("timestamp")
        assert not sample.callstack_iid or sample.callstack_iid in of["callstacks"]
        counts = [sample.timebase_count] + list(sample.follower_counts)
        before = last.get((sequence, sample.cpu), [0] * len(counts))
        last[sequence, sample.cpu] = counts
        assert len(counts) == len(names[sequence]) and counts >= before
        followers = max(followers, len(counts) - 1)
        for name, now, then in zip(names[sequence], counts, before):
            # A sample of a single event counts without a value, too.
            if now == then and len(counts) > 1: continue
            key = json.dumps([sample.pid, sample.tid, name])
            count, value = totals.get(key, (0, 0))
            totals[key] = (count + 1, value + now - then)
    if packet.sequence_flags & 1: cleared.add(packet.trusted_packet_sequence_id)
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert track.uuid and track.uuid not in tracks and (not track.parent_uuid or track.parent_uuid in tracks)
        parent = tracks[track.parent_uuid] if track.parent_uuid else None
        tracks[track.uuid] = dict(tid=parent["tid"] if parent else track.thread.tid, name=track.name, open=None, time=0)
    if packet.HasField("track_event"):
        event, track = packet.track_event, tracks[packet.track_event.track_uuid]
        assert packet.trusted_packet_sequence_id in cleared and packet.timestamp >= track["time"], "order"
        track["time"] = packet.timestamp
        if event.type == event.TYPE_SLICE_BEGIN:
            assert track["open"] is None, "overlapping slices"
            fields = {a.name: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}
            track["open"] = [track["tid"], event.name, list(event.categories), packet.timestamp, fields, track["name"]]
        else:
            assert event.type == event.TYPE_SLICE_END
            slices.append(track["open"] + [packet.timestamp - track["open"][3]])
            track["open"] = None
    for process in packet.process_tree.processes: processes.append([process.pid, list(process.cmdline)])
    for thread in packet.process_tree.threads: threads.append([thread.tgid, thread.tid, thread.name])
    for clock in packet.clock_snapshot.clocks: snapshots.append([clock.clock_id, clock.timestamp])
    for event in packet.ftrace_events.event:
        assert event.timestamp
        kind = event.WhichOneof("event")
        if kind == "sched_switch":
            s = event.sched_switch
            switches.append([packet.ftrace_events.cpu, event.timestamp, s.prev_pid, s.next_pid, s.prev_comm, s.next_comm])
        elif kind == "generic":
            generic.append([event.generic.event_name, [f.name for f in event.generic.field]])
        elif kind == "sched_process_free": exits.append(event.sched_process_free.pid)
        else: wakeups.append(kind)
frames = [[of["function_names"][f.function_name_id].str.decode() if f.function_name_id else "",
           of["mapping_paths"][of["mappings"][f.mapping_id].path_string_ids[0]].str.decode(errors="replace"),
           of["source_paths"][f.source_path_iid].str.decode() if f.source_path_iid else "", f.line_number, f.kind, f.rel_pc,
           of["build_ids"][of["mappings"][f.mapping_id].build_id].str.hex() if of["mappings"][f.mapping_id].build_id else ""]
          for of in interned.values() for f in of["frames"].values()]
chains = [[of["function_names"][of["frames"][i].function_name_id].str.decode() if of["frames"][i].function_name_id else ""
           for i in c.frame_ids] for of in interned.values() for c in list(of["callstacks"].values())[:200]]
json.dump(dict(totals=totals, followers=followers, frames=frames, chains=chains, processes=processes, threads=threads, switches=switches, generic=generic, wakeups=wakeups,
               exits=exits, slices=slices, clocks=sorted(clocks), snapshots=snapshots), sys.stdout)
"#;

fn convert(clients: &Path, recording: &Path, output: &Path, args: &[&str]) -> Result<Value, String> {
    programs::read_converted(clients, READ, recording, output, args)
}

fn totals_of(trace: &Value, has_threads: bool) -> Totals {
    let mut totals = Totals::new();
    for (key, sums) in trace["totals"].as_object().into_iter().flatten() {
        let key: (i64, i64, String) = serde_json::from_str(key).expect("a key");
        let thread = if has_threads { format!("{}/{}", key.0 as i32, key.1 as i32) } else { String::new() };
        let total = totals.entry((thread, key.2)).or_default();
        *total = (total.0 + sums[0].as_u64().unwrap_or(0), total.1 + sums[1].as_u64().unwrap_or(0));
    }
    totals
}

#[test]
fn perfetto_totals_equal_the_profile() {
    let Some(clients) = programs::directory() else { return };
    let recordings = files::recordings();
    let enough = if files::has_corpus("perfetto") { 500 } else { 20 };
    totals::compare("perfetto (schema of PyPI perfetto 0.59)", &recordings, enough, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = directory.path().join("out.pftrace");
        let trace = convert(clients, &recording.path, &output, &["--symbols", "no"])?;
        let has_threads = expected.keys().any(|(thread, _)| !thread.is_empty());
        totals::check_equal(&totals_of(&trace, has_threads), expected)
    });
}

#[test]
fn events_that_are_read_together_follow_the_leader() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.pftrace");
    let trace = convert(clients, &fixture("group-read.data"), &output, &["--symbols", "no"]).expect("a trace");
    // The group is cpu-clock, task-clock and page-faults.
    assert_eq!(trace["followers"], 2);
}

#[test]
fn traces_have_frames_with_functions_lines_and_build_ids() {
    let Some(clients) = programs::directory() else { return };
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    let output = directory.path().join("out.pftrace");
    let trace = convert(clients, &symbols.join("cxx.data"), &output, &["--symfs", &files]).expect("a trace");
    let frames = trace["frames"].as_array().expect("frames");
    let of = |name: &str| frames.iter().filter(|frame| frame[0] == name).collect::<Vec<_>>();
    let heap = of("foundry::v2::heap_phase");
    let has_line =
        |frame: &&Value| frame[2].as_str().is_some_and(|file| file.ends_with("foundry.cpp")) && frame[3] != 0;
    assert!(!heap.is_empty() && heap.iter().all(has_line), "{heap:?}");
    assert!(heap.iter().all(|frame| frame[6].as_str().is_some_and(|id| id.len() == 40)), "{heap:?}");
    let chains = trace["chains"].as_array().expect("stacks");
    let is_below_main = |chain: &Value| {
        let at = |name: &str| chain.as_array().and_then(|chain| chain.iter().position(|frame| frame == name));
        at("main").zip(at("foundry::v2::heap_phase")).is_some_and(|(outer, inner)| outer < inner)
    };
    assert!(chains.iter().any(is_below_main), "{chains:?}");
}

#[test]
fn traces_have_spans_and_waits_as_slices() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (recording, output) = (directory.path().join("in.data"), directory.path().join("out.pftrace"));
    synth(&scenario("scheduler.toml"), &recording, &["-q"]);
    let slices = |args: &[&str]| {
        let args: Vec<_> = args.iter().chain(&["--symbols", "no"]).copied().collect();
        let trace = convert(clients, &recording, &output, &args).expect("a trace");
        trace["slices"].as_array().expect("slices").clone()
    };
    let sum = |slices: &[Value]| slices.iter().filter_map(|slice| slice[6].as_u64()).sum::<u64>();
    let total = |args: &[&str]| {
        let run = succeed(perfconv().arg(&recording).args(args).args(["-t", "folded", "-q", "-o", "-"]));
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum::<u64>()
    };
    let span = ["--span", "app:request..app:reply,by=id"];
    for (args, name, count) in [(&["--off-cpu"][..], "blocked", 18), (&span, "app:request..app:reply", 3)] {
        let slices = slices(args);
        assert!(slices.len() == count && sum(&slices) == total(args), "{args:?}: {slices:?}");
        assert!(slices.iter().all(|slice| slice[1] == name), "{slices:?}");
    }
    // With the fields of the begin. The second request overlaps the first, and is on a track below that of the thread.
    let spans: Vec<_> =
        slices(&span).iter().map(|slice| (slice[0].clone(), slice[4].clone(), slice[5].clone())).collect();
    let fields = |id: u32, size: u32| serde_json::json!({ "id": id, "size": size });
    let expected = |id, size, track: &str| (Value::from(100), fields(id, size), Value::from(track));
    assert_eq!(spans, [expected(1, 10, ""), expected(3, 10, ""), expected(2, 20, "app:request..app:reply")]);
    assert_eq!(slices(&[]), Vec::<Value>::new());
}

#[test]
fn perfetto_of_changed_recordings() {
    let Some(clients) = programs::directory() else { return };
    totals::compare_changed("perfetto", |recording, expected, args| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let trace = convert(clients, recording, &directory.path().join("out.pftrace"), args)?;
        let has_threads = expected.keys().any(|(thread, _)| !thread.is_empty());
        Ok((totals_of(&trace, has_threads), trace.to_string()))
    });
}

#[test]
fn traces_have_unwound_stacks() {
    let Some(clients) = programs::directory() else { return };
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    for name in ["dwarf.data", "both.data", "detour.data"] {
        let folded = succeed(
            perfconv().arg(symbols.join(name)).args(["-t", "folded", "--symfs", &files, "-q", "--labels", "none"]),
        );
        let folded = String::from_utf8_lossy(&folded.stdout).into_owned();
        let output = directory.path().join("out.pftrace");
        let trace = convert(clients, &symbols.join(name), &output, &["--symfs", &files]).expect("a trace");
        let chains = trace["chains"].as_array().expect("stacks");
        // Functions without names have none in a trace, and are [file] in folded stacks.
        let shown = |name: &str| if name.starts_with('[') { String::new() } else { name.to_owned() };
        let lines = folded.lines().filter_map(|line| line.rsplit_once(' '));
        let expected: BTreeSet<Vec<String>> = lines.map(|(stack, _)| stack.split(';').map(shown).collect()).collect();
        let stacks: BTreeSet<Vec<String>> =
            chains.iter().map(|chain| serde_json::from_value(chain.clone()).expect("names")).collect();
        assert!(stacks.len() > 1 && stacks.iter().any(|chain| chain.len() >= 4), "{name}: {stacks:?}");
        assert_eq!(stacks, expected, "{name}");
    }
}

#[test]
fn traces_have_processes_switches_tracepoints_and_clocks() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.pftrace");
    let trace = convert(clients, &fixture("forks.data"), &output, &["--symbols", "no"]).expect("a trace");
    let threads = trace["threads"].as_array().expect("threads");
    assert!(threads.iter().any(|thread| thread[2] == "worker-1"), "{threads:?}");
    assert!(!trace["exits"].as_array().expect("exits").is_empty());

    let trace = convert(clients, &fixture("tracepoints.data"), &output, &["--symbols", "no"]).expect("a trace");
    let switches = trace["switches"].as_array().expect("switches");
    assert!(switches.iter().any(|switch| switch[4].as_str().is_some_and(|comm| !comm.is_empty())), "{switches:?}");
    let samples: u64 = totals_of(&trace, true).values().map(|(samples, _)| samples).sum();
    let events = ["switches", "generic", "wakeups"].map(|kind| trace[kind].as_array().map_or(0, Vec::len));
    assert_eq!(events.iter().sum::<usize>() as u64, samples, "{events:?}");

    let recording = directory.path().join("switches.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/switches.toml");
    succeed(perfconv().arg("synth").arg(scenario).arg("-o").arg(&recording).arg("-q"));
    let trace = convert(clients, &recording, &output, &["--symbols", "no"]).expect("a trace");
    let switches = trace["switches"].as_array().expect("switches");
    assert!(switches.len() > 2, "{switches:?}");
    // What begins to run on a CPU is what stops next.
    let mut running = std::collections::BTreeMap::new();
    for switch in switches {
        if let Some(before) = running.insert(switch[0].to_string(), switch[3].clone()) {
            assert_eq!(before, switch[2], "{switches:?}");
        }
    }
    let clocks = trace["snapshots"].as_array().expect("clocks");
    assert!(clocks.iter().any(|clock| clock[0] == trace["clocks"][0]), "{clocks:?} {}", trace["clocks"]);
}
