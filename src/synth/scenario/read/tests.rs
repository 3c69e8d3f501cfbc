//! Errors in scenarios are reported with line and key.

use crate::synth::Scenario;

const GOOD: &str = r#"about = "x"
duration = "1s"
event = [{ name = "cycles", rate = 100 }]
[[program]]
path = "/bin/app"
functions = ["main", "work"]
[[process]]
pid = 7
comm = "app"
programs = ["/bin/app"]
[[process.thread]]
[[process.thread.stack]]
percent = 100
frames = ["main", "work"]
branches = ["main+0x10 -> work"]
[[record]]
type = "LOST"
at = "5ms"
body = { id = 1, lost = 3 }
"#;

#[test]
fn errors_have_line_and_key() {
    Scenario::parse("s.toml", GOOD).unwrap();
    for (good, bad, message) in [
        ("rate = 100", "rat = 100", "s.toml:3: event[0]"),
        ("rate = 100", "rate = 9999999999", "s.toml:3: event.rate: expected at most"),
        ("rate = 100", "rate = -5", "s.toml:3: event[0].rate: "),
        ("\"cycles\"", "\"bicycles\"", "s.toml:3: event.name: 'bicycles' is not a known event"),
        ("\"1s\"", "\"-1s\"", "s.toml:2: duration: '-1s' is not a duration"),
        (
            "percent = 100",
            "percent = 99",
            "s.toml:12: process.thread.stack.percent: the percentages of this thread's stacks add up to 99",
        ),
        (
            "\"work\"]\nbranches",
            "\"play\"]\nbranches",
            "s.toml:14: process.thread.stack.frames: unknown function 'play'",
        ),
        ("main+0x10", "main+0x1000", "s.toml:15: process.thread.stack.branches: 'main+0x1000' is outside"),
        ("\"LOST\"", "\"FOUND\"", "s.toml:17: record.type: unknown record type 'FOUND'"),
        ("lost = 3", "last = 3", "s.toml:19: record.body: "),
        ("[\"/bin/app\"]", "[\"/bin/ap\"]", "s.toml:10: process.programs: unknown program"),
        ("pid = 7", "pid = 7\nx = 1", "s.toml:9: process[0]"),
        ("about", "=about", "s.toml:1: "),
    ] {
        let text = GOOD.replacen(good, bad, 1);
        let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{bad}: {error}");
    }
}

/// Uses every key that has its own syntax.
const RICH: &str = r#"about = "x"
duration = "100ms"
container = "pipe"
compress = "COMPRESSED2"
attr_size = 136
without = ["HOSTNAME"]
switches = { every = "10ms" }
[[event]]
name = "cycles"
rate = 100
fields = ["CALLCHAIN", "READ"]
read = ["GROUP"]
regs_user = ["SP", "IP"]
user_stack = 64
flags = ["INHERIT_STAT"]
lost = 3
[[event]]
name = "instructions"
rate = 0
grouped = true
[[event]]
name = "sched:sched_switch"
rate = 10
format = ["char next_comm[16]", "int next_pid"]
[[event]]
name = "intel_pt//"
rate = 0
attr = { kind = 8, config = 1 }
[kernel]
functions = ["schedule"]
[[bpf]]
name = "probe"
id = 3
tag = "0011223344556677"
[[program]]
path = "/bin/app"
functions = ["main", "work"]
[[process]]
pid = 7
comm = "app"
programs = ["/bin/app"]
cgroup = "/synthetic"
[[process.thread]]
cpu = 1
[[process.thread.stack]]
percent = 100
frames = ["main", "work", "schedule", "bpf_prog_0011223344556677_probe"]
branches = ["main+0x10 -> work MISPRED CYCLES=5"]
regs = { SP = 4096 }
raw = { next_comm = "idle", next_pid = -1 }
sample = { weight = { VAR1_DW = 3 } }
[aux]
type = "INTEL_PT"
event = "intel_pt//"
[[aux.buffer]]
at = "1ms"
bytes = "0282 0282 0282 0282"
[[record]]
bytes = "0300000000000800"
[damage]
header = { size = 17 }
cut = "50%"
"#;

#[test]
fn all_keys_are_validated() {
    let scenario = Scenario::parse("s.toml", RICH).unwrap();
    let mut file = Vec::new();
    scenario.run(1, &mut perf_data::stream::write::pipe::ToPipe::new(&mut file, Default::default())).unwrap();
    assert!(file.len() > 1000);
    for (good, bad, message) in [
        ("\"pipe\"", "\"pip\"", "s.toml:3: container: unknown variant `pip`"),
        ("\"COMPRESSED2\"", "3", "s.toml:4: compress: expected true, false"),
        ("136", "137", "s.toml:5: attr_size: expected a multiple"),
        ("\"HOSTNAME\"", "\"HOSTNAM\"", "s.toml:6: without: unknown feature"),
        ("\"10ms\"", "\"1ns\"", "s.toml:7: switches.every: expected 100ns"),
        (
            "\"GROUP\"",
            "\"GROUPS\"",
            "s.toml:12: event.read: unknown name 'GROUPS'; expected one of: TOTAL_TIME_ENABLED",
        ),
        ("\"SP\", \"IP\"", "\"EIP\"", "s.toml:13: event.regs_user: unknown register 'EIP'"),
        ("user_stack = 64", "user_stack = 63", "s.toml:14: event.user_stack: "),
        ("\"INHERIT_STAT\"", "\"FAST\"", "s.toml:15: event.flags: unknown name 'FAST'"),
        ("int next_pid\"", "thing next_pid\"", "s.toml:24: event.format: expected a C declaration"),
        ("config = 1", "confg = 1", "s.toml:28: event.attr: unknown attr field 'confg'"),
        ("0011223344556677\"\n[[pro", "00112233445566\"\n[[pro", "s.toml:34: bpf.tag: expected 16"),
        ("cpu = 1", "cpu = 9", "s.toml:44: process.thread.cpu: expected a CPU below 4"),
        ("CYCLES=5", "CYCLES=99999", "s.toml:48: process.thread.stack.branches: value 99999 is too large"),
        ("MISPRED", "WRONG", "s.toml:48: process.thread.stack.branches: unknown branch flag 'WRONG'"),
        ("{ SP = 4096 }", "{ ESP = 4096 }", "s.toml:49: process.thread.stack.regs: "),
        ("next_pid = -1", "next_tid = -1", "s.toml:50: process.thread.stack.raw: 'next_tid' is not a field"),
        ("next_pid = -1", "next_pid = \"x\"", "s.toml:50: process.thread.stack.raw: 'next_pid' has a value"),
        ("weight = {", "wait = {", "s.toml:51: process.thread.stack.sample: unknown field 'wait'"),
        ("weight = { VAR1_DW = 3 }", "time = 3", "s.toml:51: process.thread.stack.sample: TIME cannot be set"),
        ("event = \"intel_pt//\"", "event = \"intel_bts//\"", "s.toml:54: aux.event: unknown event"),
        ("0282 0282", "028 0282", "s.toml:57: aux.buffer.bytes: expected pairs"),
        ("0282 0282", "82 0282", "s.toml:57: aux.buffer.bytes: the size of a piece"),
        ("bytes = \"03", "type = \"COMM\"\nbytes = \"03", "s.toml:59: record: expected type and body"),
        ("size = 17", "length = 17", "s.toml:61: damage.header: unknown header field 'length'"),
        ("\"50%\"", "\"150%\"", "s.toml:62: damage.cut: expected an offset"),
        ("\"pipe\"", "\"dir\"", "s.toml: damage: only files and pipes"),
    ] {
        assert!(RICH.contains(good), "{good}");
        let text = RICH.replacen(good, bad, 1);
        let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{bad}: {error}");
    }
}

#[test]
fn process_ids_must_be_unique() {
    let text = format!("{GOOD}[[process]]\npid = 7\ncomm = \"other\"\nthread = []\n");
    let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
    assert!(error.contains("process.pid: duplicate process ID 7"), "{error}");
}

/// A scenario of several equal events on several CPUs.
fn scenario_with_events(cpus: u32, events: usize, event: &str) -> String {
    let event = format!("{event}, ").repeat(events);
    let good = GOOD.replacen("{ name = \"cycles\", rate = 100 }", &event, 1);
    good.replacen("[[program]]", &format!("machine.cpus = {cpus}\n[[program]]"), 1)
}

#[test]
fn the_number_of_event_ids_is_limited() {
    let text = scenario_with_events(4096, 257, "{ name = \"cycles\", rate = 100 }");
    let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
    assert!(error.contains("machine.cpus: 257 events on 4096 CPUs are too many"), "{error}");
}

#[test]
fn the_size_of_prepared_samples_is_limited() {
    let run = |events, event| {
        let scenario = Scenario::parse("s.toml", &scenario_with_events(1, events, event)).unwrap();
        scenario.to_bytes(1, perf_data::container::read::Container::File, Default::default()).map(drop)
    };
    let point = "{ name = \"sched:sched_switch\", rate = 1, format = [\"long a[4096]\"] }";
    run(10, point).unwrap();
    let error = run(10_000, point).unwrap_err().to_string();
    assert!(error.contains("one sample for each of 1 stacks and 10000 events takes too much memory"), "{error}");
    // Storing the indexes of its group with each event would take gigabytes.
    let grouped = "{ name = \"cycles\", rate = 0, grouped = true, fields = [\"READ\"], read = [\"GROUP\"] }";
    let error = run(50_000, grouped).unwrap_err().to_string();
    assert!(error.contains("takes too much memory"), "{error}");
}
