//! Text form of values: a field on each line, groups on one line where they fit.

use super::writer::DumpWriter;
use perf_data::abi::serde::tokens;
use perf_data::abi::serde::tokens::Unsupported;
use serde::Serialize;

/// Appends the fields of a value, each on its own line with an indent of two; opaque bytes in full or only their start.
///
/// # Errors
/// If the value has a type that no definition has, such as a float that is not finite.
pub(crate) fn append(out: &mut String, value: &impl Serialize, all_bytes: bool) -> Result<(), Unsupported> {
    let start = out.len();
    tokens::write(&mut DumpWriter { out, depth: 0, all_bytes }, value)?;
    if out.len() == start {
        return Ok(());
    }
    // Fields start with a line break.
    if out[start..].starts_with('\n') {
        out.remove(start);
    } else {
        out.insert_str(start, "  ");
    }
    out.push('\n');
    Ok(())
}

/// Appends a value to the current line, if it fits there.
///
/// # Errors
/// As [`append`].
pub(crate) fn append_inline(out: &mut String, value: &impl Serialize) -> Result<(), Unsupported> {
    tokens::write(&mut DumpWriter { out, depth: 1, all_bytes: false }, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::serde::readable;

    fn text(value: &impl Serialize) -> String {
        let mut out = String::new();
        append(&mut out, value, false).unwrap();
        out
    }

    #[derive(Serialize)]
    struct Outer {
        name: &'static str,
        nothing: Option<u32>,
        inner: Inner,
        list: Vec<Inner>,
        empty: Vec<u32>,
        #[serde(serialize_with = "readable::hex")]
        ips: Vec<u64>,
        #[serde(with = "serde_bytes")]
        data: Vec<u8>,
    }

    #[derive(Serialize)]
    struct Inner {
        a: u8,
        b: &'static str,
    }

    #[test]
    fn groups_that_fit_are_on_one_line() {
        let outer = |ips: usize| Outer {
            name: "a, b\n",
            nothing: None,
            inner: Inner { a: 1, b: "/bin/x" },
            list: vec![Inner { a: 2, b: "" }, Inner { a: 3, b: "y" }],
            empty: vec![],
            ips: vec![0x1234; ips],
            data: vec![0xab; 65],
        };
        let short = text(&outer(2));
        let data = format!("  data: 65 bytes {}...\n", "ab".repeat(64));
        let head =
            "  name: \"a, b\\n\"\n  inner: {a: 1, b: /bin/x}\n  list: [{a: 2, b: \"\"}, {a: 3, b: y}]\n  empty: []\n";
        assert_eq!(short, format!("{head}  ips: [0x1234, 0x1234]\n{data}"));
        let long = text(&outer(50));
        assert_eq!(long, format!("{head}  ips:\n{}{data}", "    0x1234\n".repeat(50)));
        assert_eq!(text(&5), "  5\n");
    }
}
