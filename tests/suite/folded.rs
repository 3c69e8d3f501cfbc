//! Folded stacks and flame graphs.

use crate::common::files::{self, Recording};
use crate::common::folded::{Stacks, collapse, convert, stacks, with_symbols, without_operators};
use crate::common::program::{self, perfconv, run, succeed};
use std::collections::BTreeMap;
use std::path::Path;

/// perf script text has versions of symbols: `cfree@GLIBC_2.2.5`.
fn without_versions(stacks: Stacks) -> Stacks {
    let name = |frame: &str| match frame.split_once('@') {
        Some((name, version)) if version != "plt" => name.to_owned(),
        _ => frame.to_owned(),
    };
    let mut equal = Stacks::new();
    for (stack, count) in stacks {
        let mut frames: Vec<_> = stack.split(';').map(name).collect();
        // perf script text has all addresses that no mapping holds, folded stacks one for a run of them.
        frames.dedup_by(|inner, outer| inner == "[unknown]" && inner == outer);
        *equal.entry(frames.join(";")).or_default() += count;
    }
    equal
}

/// perf script text has `[kvm]` for a module without a build ID, and otherwise the path of its file.
fn with_equal_modules(stacks: Stacks) -> Stacks {
    let name = |frame: &str| match frame.strip_prefix('[') {
        Some(_) => format!("[{}]", frame.trim_matches(['[', ']']).trim_end_matches(".ko").replace('-', "_")),
        None => frame.to_owned(),
    };
    let mut equal = Stacks::new();
    for (stack, count) in stacks {
        let mut frames: Vec<_> = stack.split(';').map(name).collect();
        // perf script text has all addresses that no mapping holds, folded stacks one for a run of them.
        frames.dedup_by(|inner, outer| inner == "[unknown]" && inner == outer);
        *equal.entry(frames.join(";")).or_default() += count;
    }
    equal
}

#[test]
fn stacks_are_those_that_inferno_reads_from_our_perf_script_text() {
    let compare = |recording: &Recording| {
        let folded = convert(&recording.path, &["-t", "folded"]);
        if folded.status != 0 {
            let is_several = folded.stderr.contains("samples of several events");
            return Ok(Err(if is_several { "several events" } else { "unreadable" }));
        }
        let script = convert(&recording.path, &["-t", "perf-script"]);
        let text = String::from_utf8_lossy(&script.stdout).into_owned();
        // Samples without a call chain have their frame on the line of the event, where inferno does not look for it.
        if text.lines().next().is_none_or(|line| !line.trim_end().ends_with(':')) {
            return Ok(Err("no call chains"));
        }
        let ours = with_equal_modules(without_operators(stacks(&String::from_utf8_lossy(&folded.stdout))));
        let expected = with_equal_modules(without_versions(collapse(text.as_bytes())));
        if ours == expected {
            return Ok(Ok(ours.len()));
        }
        let ours_only = ours.iter().find(|(stack, count)| expected.get(*stack) != Some(count));
        let expected_only = expected.iter().find(|(stack, count)| ours.get(*stack) != Some(count));
        Err(format!("{}: {ours_only:?} instead of {expected_only:?}", recording.name))
    };
    let recordings: Vec<_> = files::share(8);
    let results = program::for_each(&recordings, compare);
    let (mut compared, mut equal, mut skipped, mut failures) = (0, 0, BTreeMap::<&str, usize>::new(), Vec::new());
    for result in results {
        match result {
            Ok(Ok(count)) => (compared, equal) = (compared + 1, equal + count),
            Ok(Err(reason)) => *skipped.entry(reason).or_default() += 1,
            Err(failure) => failures.push(failure),
        }
    }
    note!("folded: {equal} stacks of {compared} recordings equal inferno's; skipped: {skipped:?}");
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    assert!(compared >= 5, "compared only {compared} recordings");
}

#[test]
fn options_change_first_frame_counts_and_suffixes() {
    let (recording, files) = with_symbols("words");
    let folded = |args: &[&str]| {
        let run = convert(&recording, &[&["-t", "folded", "--symfs", &files], args].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        stacks(&String::from_utf8(run.stdout).unwrap())
    };
    let first =
        |stacks: Stacks| stacks.keys().next().and_then(|stack| stack.split(';').next().map(str::to_owned)).unwrap();
    assert_eq!(first(folded(&[])), "words");
    assert_eq!(first(folded(&["--labels", "thread_comm,pid"])), "words-20648");
    assert_eq!(first(folded(&["--labels", "comm,pid,tid"])), "words-20648/20648");
    assert_eq!(first(folded(&["--labels", "none"])), "_start");
    assert_eq!(first(folded(&["--labels", "execution_mode"])), "execution_mode Host User");
    assert_eq!(folded(&["--weight", "samples"]).values().sum::<u64>(), 495);
    assert_eq!(folded(&[]).values().sum::<u64>(), 495 * 1_001_001);
    let inlined = folded(&["--annotate", "inlined,kernel"]);
    assert!(inlined.keys().any(|stack| stack.ends_with(";find;is_same_[i]")), "{inlined:?}");
    let unknown = run(perfconv().arg(&recording).args(["-t", "folded", "--symbols", "no", "--addresses", "-q"]));
    assert!(String::from_utf8(unknown.stdout).unwrap().contains(";[words <117d>]"), "names have addresses");
}

#[test]
fn several_events_are_rejected_and_can_be_chosen() {
    let two = files::fixture("two-events.data");
    for format in ["folded", "flamegraph"] {
        let all = run(perfconv().arg(&two).args(["-o", "-", "-t", format]));
        assert_eq!(all.status, 1, "{}", all.stderr);
        assert!(
            all.stderr.contains("samples of several events: cpu-clock, task-clock; choose one with --event"),
            "{}",
            all.stderr
        );
        assert_eq!(convert(&two, &["-t", format, "--event", "cpu-clock"]).status, 0);
    }
}

#[test]
fn folded_stacks_convert_to_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("in.folded");
    let text = "a b;main;work;leaf 12\nmain;idle 3\nmain;idle_[k];x 4\n";
    std::fs::write(&path, text).unwrap();
    let run = convert(&path, &["-t", "folded", "--annotate", "kernel"]);
    assert_eq!(String::from_utf8(run.stdout).unwrap(), text);
}

#[test]
fn flame_graphs_show_each_function() {
    let (recording, files) = with_symbols("words");
    let draw = |args: &[&str]| {
        let run = convert(&recording, &[&["-t", "flamegraph", "--symfs", &files], args].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        String::from_utf8(run.stdout).unwrap()
    };
    let image = draw(&["--title", "Words & <counts>", "--width", "900"]);
    assert!(image.contains("<svg") && image.contains("width=\"900\"") && image.contains("Words &amp; &lt;counts&gt;"));
    for function in ["_start", "main", "count_words", "find", "is_same", "hash"] {
        assert!(image.contains(&format!("<title>{function} (")), "{function}");
    }
    assert_eq!(image, draw(&["--title", "Words & <counts>", "--width", "900"]), "equal inputs are equal images");
    let other = draw(&["--icicle", "--reverse", "--colors", "mem", "--weight", "samples"]);
    assert!(other.contains("495 samples, 100%") || other.contains("(495 samples"), "{}", &other[..2000]);
}

#[test]
fn differential_flame_graphs_are_those_of_inferno() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (recording, files) = with_symbols("cxx");
    let base = directory.path().join("base.data");
    succeed(perfconv().arg("rewrite").arg(&recording).args(["--time", "0%-60%", "-q", "-o"]).arg(&base));
    let folded = |path: &Path| convert(path, &["-t", "folded", "--symfs", &files]).stdout;
    let (before, after) = (folded(&base), folded(&recording));
    let options = inferno::differential::Options { normalize: true, ..Default::default() };
    let mut lines = Vec::new();
    inferno::differential::from_readers(options, &before[..], &after[..], &mut lines).expect("folded stacks");
    let lines = String::from_utf8(lines).expect("UTF-8");
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    let mut options = inferno::flamegraph::Options::default();
    options.title = "cpu-clock".to_owned();
    options.count_name = "ns".to_owned();
    options.deterministic = true;
    let mut expected = Vec::new();
    inferno::flamegraph::from_lines(&mut options, lines, &mut expected).expect("a flame graph");
    let base = base.display().to_string();
    // Those of short names have both names.
    let image = convert(&recording, &["-t", "flamegraph", "--symfs", &files, "--names", "full", "--diff", &base]);
    assert_eq!((image.status, &*image.stderr), (0, ""));
    let colors = String::from_utf8_lossy(&image.stdout).matches("rgb(2").count();
    assert!(image.stdout == expected && colors > 10, "{} bytes instead of {}", image.stdout.len(), expected.len());
}

#[test]
fn stacks_are_cut_in_every_output_that_shows_them() {
    let (recording, files) = with_symbols("words.data");
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, cuts: &[&str]| {
        let output = directory.path().join(name);
        let mut command = perfconv();
        command
            .arg(&recording)
            .args(["--symfs", &files, "--kallsyms", "/dev/null", "-f", "-o"])
            .arg(&output)
            .args(cuts);
        let done = succeed(&mut command);
        (std::fs::read(&output).unwrap(), done.stderr)
    };
    let folded = |cuts: &[&str]| stacks(&String::from_utf8(write("out.folded", cuts).0).unwrap());
    let whole = folded(&[]);
    // No function of this program calls itself.
    assert_eq!(folded(&["--collapse-recursion"]), whole);
    for option in ["--base", "--skip-after"] {
        let mut expected = Stacks::new();
        for (stack, count) in &whole {
            let frames: Vec<_> = stack.split(';').collect();
            let cut = frames.iter().position(|frame| *frame == "count_words").map_or(stack.clone(), |start| {
                // The first frame is the thread.
                [&frames[..1], &frames[start..]].concat().join(";")
            });
            *expected.entry(cut).or_default() += count;
        }
        assert!(expected != whole && folded(&[option, "count_words"]) == expected, "{option}");
    }
    for name in ["out.pb.gz", "out.svg", "out.html", "out.speedscope.json", "out.fx.json.gz", "out.callgrind", "out.md"]
    {
        let (cut, message) = write(name, &["--base", "count_words"]);
        assert!(message.contains(" of frames, from the stacks of "), "{name}: {message}");
        assert!(cut != write(name, &[]).0, "{name}");
    }
}
