//! Invalid files are rejected with the place of the problem.

use super::{EVENTED, SPEEDSCOPE, processed};
use crate::common::work_dir::WorkDir;

/// Replaces a part of a document, which must be there.
fn with(document: &str, from: &str, to: &str) -> String {
    assert!(document.contains(from), "{from}");
    document.replacen(from, to, 1)
}

fn check_rejected(name: &str, cases: &[(String, &str)]) {
    let dir = WorkDir::new();
    for (document, expected) in cases {
        let error = dir.import(name, document).expect_err("an invalid document");
        assert!(error.contains(&format!("{name}: {expected}")), "{error}\nexpected: {expected}");
    }
}

#[test]
fn rejects_invalid_speedscope_files_with_the_place() {
    let case = |from: &str, to: &str, expected| (with(EVENTED, from, to), expected);
    check_rejected(
        SPEEDSCOPE,
        &[
            case("[[0,1],[0]]", "[[0,2],[0]]", "profiles[1].samples[0]: frame 2 does not exist"),
            case(
                "[[0,1],[0]]",
                "[[0,1],[-1]]",
                "line 5, column 95: profiles[1].samples[1][0]: invalid value: integer `-1`, expected u32",
            ),
            case("[8,1.5]", "[8]", "profiles[1].weights: 1 values for 2 samples"),
            case("[8,1.5]", "[8,-1.5]", "profiles[1].weights[1]: it is negative"),
            case(
                "[8,1.5]",
                "[8,\"x\"]",
                "line 5, column 113: profiles[1].weights[1]: invalid type: string \"x\", expected a number",
            ),
            case(",\"weights\":[8,1.5]", "", "profiles[1]: missing field `weights`"),
            case("\"at\":3.25", "\"at\":0.75", "profiles[0].events[2]: at: it is before the preceding event"),
            case(
                "{\"type\":\"C\",\"frame\":1,\"at\":3.25}",
                "{\"type\":\"C\",\"frame\":0,\"at\":3.25}",
                "profiles[0].events[2]: it closes frame 0, but frame 1 is open",
            ),
            case(
                "{\"type\":\"O\",\"frame\":0,\"at\":0.5}",
                "{\"type\":\"C\",\"frame\":0,\"at\":0.5}",
                "profiles[0].events[0]: it closes frame 0, but none is open",
            ),
            case(
                ",{\"type\":\"C\",\"frame\":1,\"at\":7.5}",
                "",
                "profiles[0].events: frame 1 is still open at the end",
            ),
            case(
                "{\"type\":\"O\",\"frame\":1,\"at\":7}",
                "{\"type\":\"O\",\"frame\":9,\"at\":7}",
                "profiles[0].events[4]: frame 9 does not exist",
            ),
            case(
                "\"milliseconds\"",
                "\"fortnights\"",
                "line 2, column 70: profiles[0].unit: unknown variant `fortnights`",
            ),
            case("\"line\":10", "\"line\":-10", "shared.frames[0].line: not a line number"),
            case("\"shared\"", "\"unshared\"", "line 7, column 63: missing field `shared`"),
            (EVENTED[..200].to_owned(), "line 3, column "),
            ("[".repeat(100_000), "line 1, column "),
            (r#"{"shared":{"frames":[]},"profiles":[]}"#.to_owned(), "profiles: they have no samples"),
            (String::new(), "line 1, column 0: EOF while parsing a value"),
        ],
    );
}

#[test]
fn rejects_invalid_processed_profiles_with_the_place() {
    let (new, old) = (processed(60), processed(55));
    let case = |from: &str, to: &str, expected| (with(&new, from, to), expected);
    let of_old = |from: &str, to: &str, expected| (with(&old, from, to), expected);
    check_rejected(
        "x.fx.json",
        &[
            case(
                "\"prefix\":[null,0,0,2]",
                "\"prefix\":[null,1,0,2]",
                "threads[0].samples.stack[0]: stackTable.prefix[1]: 1 is not before the stack",
            ),
            case(
                "\"prefix\":[null,0,0,2]",
                "\"prefix\":[3,0,0,2]",
                "threads[0].samples.stack[0]: stackTable.prefix[0]: 3 is not before the stack",
            ),
            case("\"prefix\":[null,0,0,2]", "\"prefix\":[null,0,0]", "shared.stackTable.prefix: 3 values, expected 4"),
            case(
                "\"prefix\":[null,0,0,2]",
                "\"prefixOffset\":[0,1,2,9]",
                "threads[0].samples.stack[1]: stackTable.prefixOffset[3]: 9 is before the table",
            ),
            case("\"prefix\"", "\"suffix\"", "shared.stackTable.prefix: missing"),
            case(
                "\"frame\":[0,1,2,3]",
                "\"frame\":[0,7,2,3]",
                "threads[0].samples.stack[0]: stackTable.frame[1]: 7 does not exist",
            ),
            case(
                "\"func\":[0,1,2,3]",
                "\"func\":[0,9,2,3]",
                "threads[0].samples.stack[0]: frameTable.func[1]: 9 does not exist",
            ),
            case(
                "\"name\":[0,2,3,4]",
                "\"name\":[0,99,3,4]",
                "threads[0].samples.stack[0]: funcTable.name[1]: 99 does not exist",
            ),
            case(
                "\"resource\":[0,0,0,1]",
                "\"resource\":[0,5,0,1]",
                "threads[0].samples.stack[0]: funcTable.resource[1]: 5 does not exist",
            ),
            case(
                "\"lib\":[0,1]",
                "\"lib\":[2,1]",
                "threads[0].samples.stack[0]: frameTable[1]: library 2 does not exist",
            ),
            case(
                "\"source\":[0,0,null,null]",
                "\"source\":[0,3,null,null]",
                "threads[0].samples.stack[0]: funcTable.source[1]: 3 does not exist",
            ),
            case(
                "\"stack\":[1,3,null,0]",
                "\"stack\":[1,4,null,0]",
                "threads[0].samples.stack[1]: stackTable[4]: 4 does not exist",
            ),
            case("[2.5,-1]", "[2.5]", "threads[1].samples.weight: 1 values, expected 2"),
            case("\"func\":[0,1,2,3]", "\"func\":[0,1,2,4294967296]", "line 1, column "),
            case("\"address\":[4660", "\"address\":[\"4660\"", "line 1, column "),
            case("\"frameTable\"", "\"frames\"", "shared.frameTable: missing"),
            of_old("\"stringArray\"", "\"strings\"", "threads[0].stringArray: missing"),
            of_old("\"funcTable\"", "\"functions\"", "threads[0].funcTable: missing"),
            case(
                "\"preprocessedProfileVersion\":60",
                "\"preprocessedProfileVersion\":76",
                "meta.preprocessedProfileVersion: version 76 is not supported; 41 to 75 are; open it at",
            ),
            case(
                "\"preprocessedProfileVersion\":60,",
                "",
                "meta: a Gecko profile, as Firefox records it, which is not supported; open it at profiler.firefox.com, and import the profile that it saves",
            ),
            (new[..new.len() / 2].to_owned(), "line 1, column "),
            (
                r#"{"meta":{"preprocessedProfileVersion":60},"libs":[],"threads":[]}"#.to_owned(),
                "threads: they have no samples",
            ),
        ],
    );
}

/// Without a limit, the stacks of these small inputs would take gigabytes.
#[test]
fn rejects_deep_stacks_of_small_inputs() {
    const MANY: usize = 16_000;
    let list = |item: &dyn Fn(usize) -> String| (0..MANY).map(item).collect::<Vec<_>>().join(",");
    let opened = list(&|at| format!(r#"{{"type":"O","frame":0,"at":{at}}}"#));
    let closed = list(&|at| format!(r#"{{"type":"C","frame":0,"at":{}}}"#, MANY + at));
    let evented = format!(
        r#"{{"shared":{{"frames":[{{"name":"f"}}]}},"profiles":[{{"type":"evented","name":"","unit":"none","startValue":0,"endValue":1,"events":[{opened},{closed}]}}]}}"#
    );
    check_rejected(SPEEDSCOPE, &[(evented, "profiles[0].events[")]);
    let (frames, prefixes, stacks) = (
        list(&|_| "0".to_owned()),
        list(&|row| if row == 0 { "null".to_owned() } else { (row - 1).to_string() }),
        list(&|row| row.to_string()),
    );
    let chain = format!(
        r#"{{"meta":{{"preprocessedProfileVersion":60}},"libs":[],"shared":{{"stringArray":["f"],"funcTable":{{"name":[0]}},"frameTable":{{"func":[0]}},"stackTable":{{"frame":[{frames}],"prefix":[{prefixes}]}}}},"threads":[{{"name":"t","samples":{{"stack":[{stacks}]}}}}]}}"#
    );
    check_rejected("x.fx.json", &[(chain, "threads[0].samples.stack[")]);
}
