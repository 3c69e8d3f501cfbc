//! Imports of profiles as recordings: round trips.

use crate::common::files;
use crate::common::imports::{exception, profile_path, recording_of_allocations, text};
use crate::common::program::{self, column, for_each, perfconv, run, succeed, try_run};
use perfconv::formats::pprof::proto::{Location, Mapping, Profile};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// All labels for which samples have a field.
const LABELS: &str = "pid,tid,comm,thread_comm,cpu,timestamp_ns";

/// One in `SHARE` recordings is tested.
const SHARE: usize = 4;

/// A frame: address, mapping, its build ID, functions.
type Frame = (u64, String, String, Vec<String>);

/// Values by sample type, by stack and labels.
type Stacks = BTreeMap<(Vec<Frame>, Vec<String>), BTreeMap<String, i64>>;

/// The samples of a profile, regardless of order and numbering.
fn stacks(profile: &Profile) -> Stacks {
    let mappings: HashMap<_, _> = profile.mapping.iter().map(|mapping| (mapping.id, mapping)).collect();
    let functions: HashMap<_, _> = profile.function.iter().map(|function| (function.id, function.name)).collect();
    let frames = profile.location.iter().map(|location| {
        let mapping = mappings.get(&location.mapping_id);
        let of = |index: fn(&perfconv::formats::pprof::proto::Mapping) -> i64| {
            mapping.map_or(String::new(), |mapping| text(profile, index(mapping)).to_owned())
        };
        let names = location.line.iter().map(|line| text(profile, functions[&line.function_id]).to_owned());
        (location.id, (location.address, of(|m| m.filename), of(|m| m.build_id), names.collect()))
    });
    let frames: HashMap<u64, Frame> = frames.collect();
    let mut stacks = Stacks::new();
    for sample in &profile.sample {
        let labels = sample.label.iter().map(|label| {
            let (key, unit) = (text(profile, label.key), text(profile, label.num_unit));
            format!("{key}={}{} {unit}", text(profile, label.str), label.num)
        });
        let stack = sample.location_id.iter().map(|id| frames[id].clone()).collect();
        let values = stacks.entry((stack, labels.collect())).or_default();
        for (kind, value) in profile.sample_type.iter().zip(&sample.value) {
            let (name, unit) = column(profile, kind);
            *values.entry(format!("{name}/{unit}")).or_default() += value;
        }
    }
    stacks
}

/// The properties of a profile as a whole.
fn head(profile: &Profile) -> Vec<String> {
    let types = profile.sample_type.iter().map(|kind| format!("{:?}", column(profile, kind)));
    let period = profile.period_type.as_ref().map(|kind| column(profile, kind));
    let times = format!("{} for {}", profile.time_nanos, profile.duration_nanos);
    let comments = profile.comment.iter().map(|&comment| text(profile, comment).to_owned());
    types.chain([format!("{period:?} {}", profile.period), times]).chain(comments).collect()
}

/// Describes the first differences.
fn differences(one: &Stacks, other: &Stacks) -> Option<String> {
    let only = |a: &Stacks, b: &Stacks| {
        let first = a.iter().find(|(stack, values)| b.get(*stack) != Some(*values));
        first.map_or("nothing".to_owned(), |found| format!("{found:?}").chars().take(1500).collect::<String>())
    };
    (one != other)
        .then(|| format!("{} and {} stacks\n  {}\n  {}", one.len(), other.len(), only(one, other), only(other, one)))
}

#[test]
fn profiles_survive_a_round_trip_through_a_recording() {
    let mut recordings = files::share(SHARE);
    recordings.retain(|recording| exception(&recording.name).is_none());
    let results = for_each(&recordings, |recording| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| dir.path().join(name);
        let (mut stacks_of_all, mut profiles) = (0, 0);
        for labels in ["comm", LABELS, "tid,cgroup"] {
            // A recording cannot contain inlined functions, which symbols of this machine's files would add.
            let args = ["-q", "-f", "--symbols", "no", "--labels", labels, "-o"];
            let convert = |input: &Path, output: &str| run(perfconv().arg(input).args(args).arg(path(output)));
            // Other tests cover which recordings convert, and with which labels.
            if convert(&recording.path, "original.pb.gz").status != 0 {
                continue;
            }
            let original = program::profile(&path("original.pb.gz"));
            // Skip if a label is missing in the profile: it cannot survive the round trip.
            let has_label = |key: &str| {
                original.sample.iter().any(|sample| sample.label.iter().any(|l| text(&original, l.key) == key))
            };
            if original.sample.is_empty() || labels != "comm" && !labels.split(',').all(has_label) {
                continue;
            }
            try_run(perfconv().arg(path("original.pb.gz")).args(["-q", "-f", "-o"]).arg(path("imported.data")))?;
            let exported = convert(&path("imported.data"), "exported.pb.gz");
            if exported.status != 0 {
                return Err(exported.stderr);
            }
            let exported = program::profile(&path("exported.pb.gz"));
            let (one, mut other) = (stacks(&original), stacks(&exported));
            // Without processes, the import names them after the program.
            if one.keys().all(|(_, labels)| labels.is_empty()) {
                other = other.into_iter().map(|((stack, _), values)| ((stack, Vec::new()), values)).collect();
            }
            if let Some(differences) = differences(&one, &other) {
                return Err(format!("{labels}: {differences}"));
            }
            if head(&original) != head(&exported) {
                return Err(format!("{labels}:\n  {:?}\n  {:?}", head(&original), head(&exported)));
            }
            stacks_of_all += one.len();
            profiles += 1;
        }
        Ok((profiles, stacks_of_all))
    });
    let mut failures = Vec::new();
    let (mut profiles, mut stacks) = (0, 0);
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok((profile_count, stack_count)) => (profiles, stacks) = (profiles + profile_count, stacks + stack_count),
            Err(why) => failures.push(format!("{}: {why}", recording.name)),
        }
    }
    note!("imports: {profiles} profiles of {} recordings survive a round trip, {stacks} stacks", recordings.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    let enough = if files::has_corpus("imports") { (150, 20_000) } else { (8, 100) };
    assert!(profiles >= enough.0 && stacks >= enough.1, "compared too few profiles");
}

#[test]
fn other_labels_become_tracepoint_fields() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, expected) = recording_of_allocations(dir.path());
    let jsonl = dir.path().join("out.jsonl");
    let run = program::run(perfconv().arg(&output).args(["-q", "--decode", "tracepoints", "-o"]).arg(&jsonl));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&jsonl).unwrap();
    let decoded = text.matches("\"bytes\":").count();
    assert!(decoded >= expected.len(), "{decoded} samples of {} have the field", expected.len());
}

#[test]
fn values_option_selects_the_expansion() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.folded"), "main;work;leaf 30\nmain;work 10\nmain;work 2\n").unwrap();
    let cpu = program::profile(&profile_path("cpu.pprof"));
    let (counted, nanoseconds) =
        (crate::common::pprof::column_sums(&cpu)[0], crate::common::pprof::column_sums(&cpu)[1]);
    let stacks = cpu.sample.len() as i64;
    assert!(counted > stacks, "some stacks should have several samples");
    let cpu = profile_path("cpu.pprof");
    let all = format!("values in ({nanoseconds} nanoseconds of cpu)");
    for (input, values, samples, sum, read) in [
        (&cpu, None, counted, nanoseconds, "samples in"),
        (&cpu, Some("spread"), counted, nanoseconds, "samples in"),
        (&cpu, Some("single"), stacks, nanoseconds, &*all),
        (&path("in.folded"), None, 3, 42, "values in (42 samples)"),
        (&path("in.folded"), Some("spread"), 42, 42, "samples in"),
        (&path("in.folded"), Some("single"), 3, 42, "values in (42 samples)"),
    ] {
        let values = values.map(|values| ["--values", values]);
        let run = run(perfconv().arg(input).args(values.iter().flatten()).args(["-f", "-o"]).arg(path("out.data")));
        // Warnings about unsupported data come first; the ledger comes last.
        let ledger = run.stderr.lines().last().unwrap_or_default();
        assert!(ledger.contains(&format!("out.data: {samples} {read}, {samples} out")), "{}", run.stderr);
        assert_eq!(program::convert(&path("out.data"), &path(&format!("{samples}.pb.gz"))).status, 0);
        let back = crate::common::pprof::column_sums(&program::profile(&path(&format!("{samples}.pb.gz"))));
        assert_eq!(back, [samples, sum], "{} {values:?}", input.display());
        fs::remove_file(path(&format!("{samples}.pb.gz"))).unwrap();
    }
    let run = run(perfconv().arg(files::fixture("plain.data")).args(["--values", "single", "-o"]).arg(path("no.data")));
    assert_eq!(run.status, 2, "{}", run.stderr);
}

#[test]
fn samples_without_a_time_take_that_of_their_neighbor() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let sample = |head: &str| format!("{head}\n\t 1000 main+0x0 (/bin/a)\n\n");
    let heads = ["a 7 cycles: ", "a 8 [000] 0.000005: faults: ", "a 7 cycles: ", "a 8 [000] 0.551615: faults: "];
    fs::write(path("in.script"), heads.map(sample).concat()).unwrap();
    succeed(perfconv().arg(path("in.script")).arg("-o").arg(path("out.data")));
    succeed(perfconv().arg("check").arg(path("out.data")));
    let dump = run(perfconv().args(["dump", "--type", "SAMPLE"]).arg(path("out.data")));
    let text = String::from_utf8(dump.stdout).expect("text");
    let times: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  time: ")).collect();
    assert_eq!(times, ["5000", "5000", "5000", "551615000"]);
}

#[test]
fn overlapping_mappings_are_mapped_at_most_once_per_stack() {
    const MAPS: u64 = 3000;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let nested = |number: u64| (0x1000 * number, 0x1000 * (2 * MAPS - number), 0x1000 * number + 8);
    let of_kernel = |number: u64| (1 << 63, (1 << 63) + 0x1000, (1 << 63) + number % 2);
    let same_address = |number: u64| (0x1000, 0x1000 + (1 << 20), 0x1000 + number);
    for (name, range_of) in [
        ("nested", &nested as &dyn Fn(u64) -> (u64, u64, u64)),
        ("of the kernel", &of_kernel),
        ("at the same address", &same_address),
    ] {
        let mut profile = program::profile(&profile_path("block.pprof"));
        let mut sample = profile.sample[0].clone();
        (profile.mapping, profile.location) = (Vec::new(), Vec::new());
        for id in 1..=MAPS {
            let (memory_start, memory_limit, address) = range_of(id);
            profile.string_table.push(format!("/lib/{id}.so"));
            let filename = profile.string_table.len() as i64 - 1;
            profile.mapping.push(Mapping { id, memory_start, memory_limit, filename, ..Mapping::default() });
            profile.location.push(Location { id, mapping_id: id, address, ..Location::default() });
        }
        // One stack from the innermost mapping, and one in another order.
        sample.location_id = (1..=MAPS).rev().collect();
        profile.sample = vec![sample.clone(); 10];
        sample.location_id = (1..=MAPS).map(|id| id * 7 % MAPS + 1).collect();
        profile.sample.extend(vec![sample; 10]);
        fs::write(path("in.pb"), prost::Message::encode_to_vec(&profile)).unwrap();
        succeed(perfconv().arg(path("in.pb")).args(["--values", "single", "-f", "-o"]).arg(path("out.data")));
        succeed(perfconv().arg("check").arg(path("out.data")));
        let len = fs::metadata(path("out.data")).unwrap().len();
        // A mapping and two words for each frame.
        assert!(len < 20 * MAPS * 150, "{name}: {len} bytes");
    }
}

#[test]
fn errors_name_the_line_or_field() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut profile = program::profile(&profile_path("block.pprof"));
    let encoded = |profile: &Profile| prost::Message::encode_to_vec(profile);
    let complete = encoded(&profile);
    let mut inputs = vec![
        ("truncated.pb", complete[..complete.len() / 2].to_vec(), "not a valid pprof profile: "),
        ("empty.pb", Vec::new(), "not a valid pprof profile: it is empty"),
        ("text.pb", b"main;work 3\n".to_vec(), "not a valid pprof profile: "),
        ("a.folded", b"main;work 3\n\nmain;leaf\n".to_vec(), "line 3: count: missing"),
        (
            "b.folded",
            b"main;work 3\nmain;leaf x7\n".to_vec(),
            "line 2: count: 'x7' is not a number from 0 to 18446744073709551615",
        ),
        ("c.folded", b"\n\n".to_vec(), "it has no stacks"),
        ("a.script", b"\n\n\t401000 main (/bin/a)\n".to_vec(), "line 3 is no part of a sample: '401000 main (/bin/a)'"),
        ("b.script", b"Warning:\nnonsense\n".to_vec(), "line 1 is no part of a sample: 'Warning:'"),
        ("c.script", Vec::new(), "it has no samples"),
    ];
    profile.sample[0].value.pop();
    inputs.push(("values.pb", encoded(&profile), "sample 0 has 1 values; expected 2"));
    profile.sample[0].value.push(1);
    profile.location[1].id = profile.location[0].id;
    inputs.push(("ids.pb", encoded(&profile), "duplicate location ID 1"));
    for (name, bytes, expected) in &inputs {
        let (input, output) = (dir.path().join(name), dir.path().join("out.data"));
        fs::write(&input, bytes).unwrap();
        let run = run(perfconv().arg(&input).arg("-o").arg(&output));
        let failure = run.failure().unwrap();
        assert!(failure.contains(expected) && failure.contains(name), "{name}: {failure}");
        assert!(!output.exists() && !dir.path().join("out.data.images").exists(), "{name}: an output was written");
    }
    note!("imports: {} invalid inputs are rejected with line or field", inputs.len());
    let input = dir.path().join("many.folded");
    fs::write(&input, "main;work 1000000000000\n").unwrap();
    let out = dir.path().join("out.data");
    let run = run(perfconv().arg(&input).args(["--values", "spread", "-o"]).arg(&out));
    assert!(run.failure().unwrap().contains("--values single"), "{run:?}");
}

/// The largest remainder that is lost is that of the total, however the counts are divided among lines.
#[test]
fn decimal_counts_of_folded_stacks_keep_their_sum() {
    let dir = tempfile::tempdir().unwrap();
    let converted = |name: &str, text: &str| {
        let input = dir.path().join(name);
        fs::write(&input, text).unwrap();
        let run = run(perfconv().arg(&input).args(["-t", "folded", "-o", "-"]));
        let lines = String::from_utf8(run.stdout).unwrap();
        lines.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(converted("one.folded", "a;b 1.5\n"), [2]);
    assert_eq!(converted("two.folded", "a;b 1.4\na;c 10\n"), [1, 10]);
    let counts = (2..=1001).map(|number| f64::from(number) * 0.3).collect::<Vec<_>>();
    let text = counts.iter().enumerate().map(|(number, count)| format!("a;f{number:04} {count:.1}\n"));
    let rounded = converted("many.folded", &text.collect::<String>());
    assert_eq!((rounded.len(), rounded.iter().sum::<u64>()), (1000, 150_450));
    assert!(rounded.iter().zip(&counts).all(|(&rounded, count)| (rounded as f64 - count).abs() < 1.0));
}
