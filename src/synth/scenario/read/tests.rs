//! What is wrong in a scenario is told where it is.

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
fn what_is_wrong_is_told_with_line_and_key() {
    Scenario::parse("s.toml", GOOD).unwrap();
    for (good, bad, message) in [
        ("rate = 100", "rat = 100", "s.toml:3: event[0]"),
        ("rate = 100", "rate = 9999999999", "s.toml:3: event.rate: it is at most"),
        ("rate = 100", "rate = -5", "s.toml:3: event[0].rate: "),
        ("\"cycles\"", "\"bicycles\"", "s.toml:3: event.name: \"bicycles\" is no event"),
        ("\"1s\"", "\"-1s\"", "s.toml:2: duration: \"-1s\" is no time"),
        (
            "percent = 100",
            "percent = 99",
            "s.toml:12: process.thread.stack.percent: the percents of this thread's stacks are 99",
        ),
        (
            "\"work\"]\nbranches",
            "\"play\"]\nbranches",
            "s.toml:14: process.thread.stack.frames: there is no function \"play\"",
        ),
        ("main+0x10", "main+0x1000", "s.toml:15: process.thread.stack.branches: \"main+0x1000\" is outside"),
        ("\"LOST\"", "\"FOUND\"", "s.toml:17: record.type: \"FOUND\" is no type"),
        ("lost = 3", "last = 3", "s.toml:19: record.body: "),
        ("[\"/bin/app\"]", "[\"/bin/ap\"]", "s.toml:10: process.programs: there is no program"),
        ("pid = 7", "pid = 7\nx = 1", "s.toml:9: process[0]"),
        ("about", "=about", "s.toml:1: "),
    ] {
        let text = GOOD.replacen(good, bad, 1);
        let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{bad}: {error}");
    }
}

/// Every key that has a form of its own.
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
cgroup = "/made-up"
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
fn keys_of_all_kinds_are_checked() {
    let scenario = Scenario::parse("s.toml", RICH).unwrap();
    let mut file = Vec::new();
    scenario.run(1, &mut crate::stream::write::pipe::ToPipe::new(&mut file, Default::default())).unwrap();
    assert!(file.len() > 1000);
    for (good, bad, message) in [
        ("\"pipe\"", "\"pip\"", "s.toml:3: container: unknown variant `pip`"),
        ("\"COMPRESSED2\"", "3", "s.toml:4: compress: expected true, false"),
        ("136", "137", "s.toml:5: attr_size: an attr takes"),
        ("\"HOSTNAME\"", "\"HOSTNAM\"", "s.toml:6: without: there is no feature"),
        ("\"10ms\"", "\"1ns\"", "s.toml:7: switches.every: it is from 100ns"),
        ("\"GROUP\"", "\"GROUPS\"", "s.toml:12: event.read: there is no \"GROUPS\"; there are TOTAL_TIME_ENABLED"),
        ("\"SP\", \"IP\"", "\"EIP\"", "s.toml:13: event.regs_user: \"EIP\" is no register"),
        ("user_stack = 64", "user_stack = 63", "s.toml:14: event.user_stack: "),
        ("\"INHERIT_STAT\"", "\"FAST\"", "s.toml:15: event.flags: there is no \"FAST\""),
        ("int next_pid\"", "thing next_pid\"", "s.toml:24: event.format: a field is told as in C"),
        ("config = 1", "confg = 1", "s.toml:28: event.attr: an attr has no field \"confg\""),
        ("0011223344556677\"\n[[pro", "00112233445566\"\n[[pro", "s.toml:34: bpf.tag: it is 16"),
        ("cpu = 1", "cpu = 9", "s.toml:44: process.thread.cpu: there are 4 CPUs"),
        ("CYCLES=5", "CYCLES=99999", "s.toml:48: process.thread.stack.branches: 99999 does not fit"),
        ("MISPRED", "WRONG", "s.toml:48: process.thread.stack.branches: \"WRONG\" is no flag"),
        ("{ SP = 4096 }", "{ ESP = 4096 }", "s.toml:49: process.thread.stack.regs: "),
        ("next_pid = -1", "next_tid = -1", "s.toml:50: process.thread.stack.raw: \"next_tid\" is no field"),
        ("next_pid = -1", "next_pid = \"x\"", "s.toml:50: process.thread.stack.raw: \"next_pid\" cannot have"),
        ("weight = {", "wait = {", "s.toml:51: process.thread.stack.sample: there is no \"wait\""),
        ("weight = { VAR1_DW = 3 }", "time = 3", "s.toml:51: process.thread.stack.sample: TIME follows"),
        ("event = \"intel_pt//\"", "event = \"intel_bts//\"", "s.toml:54: aux.event: there is no event"),
        ("0282 0282", "028 0282", "s.toml:57: aux.buffer.bytes: bytes are told by pairs"),
        ("0282 0282", "82 0282", "s.toml:57: aux.buffer.bytes: a piece of a trace"),
        ("bytes = \"03", "type = \"COMM\"\nbytes = \"03", "s.toml:59: record: a record has a type and a body"),
        ("size = 17", "length = 17", "s.toml:61: damage.header: \"length\" is no field"),
        ("\"50%\"", "\"150%\"", "s.toml:62: damage.cut: a place is"),
        ("\"pipe\"", "\"dir\"", "s.toml: damage: what is damaged is a file or a pipe"),
    ] {
        assert!(RICH.contains(good), "{good}");
        let text = RICH.replacen(good, bad, 1);
        let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{bad}: {error}");
    }
}

#[test]
fn processes_have_numbers_of_their_own() {
    let text = format!("{GOOD}[[process]]\npid = 7\ncomm = \"other\"\nthread = []\n");
    let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
    assert!(error.contains("process.pid: 7 is there twice"), "{error}");
}

/// A scenario of so many events like this one, on so many CPUs.
fn of_events(cpus: u32, events: usize, event: &str) -> String {
    let event = format!("{event}, ").repeat(events);
    let good = GOOD.replacen("{ name = \"cycles\", rate = 100 }", &event, 1);
    good.replacen("[[program]]", &format!("machine.cpus = {cpus}\n[[program]]"), 1)
}

#[test]
fn events_have_ids_for_all_cpus_while_there_is_room() {
    let text = of_events(4096, 257, "{ name = \"cycles\", rate = 100 }");
    let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
    assert!(error.contains("machine.cpus: 257 events on 4096 CPUs are too many"), "{error}");
}

#[test]
fn samples_that_are_large_have_to_have_room() {
    let run = |events, event| {
        let scenario = Scenario::parse("s.toml", &of_events(1, events, event)).unwrap();
        scenario.to_bytes(1, crate::container::read::Container::File, Default::default()).map(drop)
    };
    let point = "{ name = \"sched:sched_switch\", rate = 1, format = [\"long a[4096]\"] }";
    run(10, point).unwrap();
    let error = run(10_000, point).unwrap_err().to_string();
    assert!(error.contains("a sample of each of 1 stacks and 10000 events is too much"), "{error}");
    // If each event kept the numbers of all of its group, these would be gigabytes.
    let grouped = "{ name = \"cycles\", rate = 0, grouped = true, fields = [\"READ\"], read = [\"GROUP\"] }";
    let error = run(50_000, grouped).unwrap_err().to_string();
    assert!(error.contains("is too much"), "{error}");
}
