//! Registers of AMD IBS, compared with those that `perf report -D` prints.

use super::perf_commands::has_perf;
use crate::common::program::{perfconv, run_other, succeed, with_time_limit};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Capabilities of CPUs: of Zen 2 and of Zen 4.
const CAPABILITIES: [u32; 2] = [0x3ff, 0xfff];

/// Number of different samples of a recording.
const SAMPLES: u64 = 50;

/// A register with its fields.
type Register = (u64, BTreeMap<String, u64>);

/// A scenario of samples with random registers.
fn scenario(unit: &str, capabilities: u32, seed: u64) -> String {
    let kind = if unit == "ibs_op" { 11 } else { 10 };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    // By these perf knows Zen 4.
    let has_extensions = capabilities >> 11 & 1 == 1;
    let caps = |pmu| {
        format!("{{ caps = {{ caps = [{{ name = \"zen4_ibs_extensions\", value = \"1\" }}] }}, pmu_name = \"{pmu}\" }}")
    };
    let extensions = format!("PMU_CAPS = {{ pmus = [{}, {}] }}\n", caps("ibs_fetch"), caps("ibs_op"));
    let extensions = if has_extensions { &*extensions } else { "" };
    let mut stacks = String::new();
    for _ in 0..SAMPLES {
        let mut words: Vec<u64> = (0..9).map(|_| random.next_u64()).collect();
        if unit == "ibs_op" {
            // Valid; reserved bits of the source of data are 0.
            words[0] |= 3 << 17;
            words[3] &= if has_extensions { 0xff } else { 0x37 };
        } else {
            words[0] |= 3 << 48;
            words.truncate(4);
        }
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        let raw: Vec<_> = capabilities.to_le_bytes().into_iter().chain(words).map(|byte| byte.to_string()).collect();
        let percent = 100 / SAMPLES;
        let data = raw.join(", ");
        writeln!(
            stacks,
            "  {{ percent = {percent}, frames = [\"main\"], sample = {{ raw = {{ data = [{data}] }} }} }},"
        )
        .unwrap();
    }
    format!(
        r#"about = "registers of {unit}"
seed = {seed}
duration = "1s"
[machine]
cpus = 1
[[event]]
name = "{unit}//"
rate = {rate}
period = 250000
attr = {{ kind = {kind} }}
fields = ["RAW"]
[[program]]
path = "/usr/bin/app"
functions = ["main"]
[[process]]
pid = 9
comm = "app"
programs = ["/usr/bin/app"]
[[process.thread]]
stack = [
{stacks}]
[feature]
CPUID = "AuthenticAMD,25,{model},1"
PMU_MAPPINGS = {{ pmus = [{{ kind = 10, name = "ibs_fetch" }}, {{ kind = 11, name = "ibs_op" }}] }}
{extensions}"#,
        rate = 2 * SAMPLES,
        model = if has_extensions { 0x11 } else { 1 },
    )
}

/// The registers in the output of perf: `ibs_op_ctl:\t00000000000609c4 MaxCnt     40000 En 1 CntCtl 0=cycles`.
fn perf_registers(text: &str) -> Vec<Register> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(":\t")?;
        (name.starts_with("ibs_") || name.starts_with("ic_ibs") || name.starts_with("Ibs")).then_some(())?;
        let mut words = rest.split_whitespace();
        let value = u64::from_str_radix(words.next()?, 16).ok()?;
        let (mut fields, mut field) = (BTreeMap::new(), None);
        for word in words {
            let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
            match (field.take(), digits.parse()) {
                (Some(name), Ok(number)) => _ = fields.insert(name, number),
                _ => field = Some(word.to_owned()),
            }
        }
        Some((value, fields))
    };
    text.lines().filter_map(line).collect()
}

/// The registers in a dump: `    IbsOpCtl 0x609c4 IbsOpMaxCnt=40000 IbsOpEn=1`.
fn dumped_registers(path: &Path) -> Vec<Register> {
    let run = succeed(perfconv().arg("dump").arg(path).args(["--type", "SAMPLE"]));
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    let line = |line: &str| {
        let mut words = line.strip_prefix("    Ibs")?.split(' ');
        let value = u64::from_str_radix(words.nth(1)?.strip_prefix("0x")?, 16).ok()?;
        let field = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
        Some((value, words.filter_map(field).collect()))
    };
    text.lines().filter_map(line).collect()
}

/// The field that perf calls `name`, mostly without a prefix.
fn field<'a>(fields: &'a BTreeMap<String, u64>, name: &str) -> Option<&'a u64> {
    ["", "Ibs", "IbsOp", "IbsFetch"].iter().find_map(|prefix| fields.get(&format!("{prefix}{name}")))
}

#[test]
fn registers_of_ibs_are_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut registers, mut values, mut names) = (0, 0, BTreeSet::new());
    for (seed, (unit, capabilities)) in
        (1..).zip(["ibs_op", "ibs_fetch"].into_iter().flat_map(|unit| CAPABILITIES.map(|bits| (unit, bits))))
    {
        let (toml, path) = (directory.path().join("ibs.toml"), directory.path().join("ibs.data"));
        fs::write(&toml, scenario(unit, capabilities, seed)).expect("a scenario");
        succeed(perfconv().arg("synth").arg(&toml).args(["-q", "-f", "-o"]).arg(&path));
        let mut perf = with_time_limit("perf");
        let perf = run_other(perf.env("HOME", directory.path()).args(["report", "-D", "-i"]).arg(&path));
        let theirs = perf_registers(&String::from_utf8_lossy(&perf.stdout));
        let mut ours = dumped_registers(&path).into_iter();
        for (value, fields) in &theirs {
            // perf prints the address of data only if it is valid, and no second word of data.
            let own = ours.find(|(own, _)| own == value);
            let (_, own) = own.unwrap_or_else(|| panic!("{unit}: {value:#x} is missing"));
            registers += 1;
            for (name, expected) in fields {
                // Sizes of pages are texts.
                if name == "L1TlbPgSz" {
                    continue;
                }
                let actual = field(&own, name).unwrap_or_else(|| panic!("{unit}: no {name} in {own:?}"));
                assert_eq!(actual, expected, "{unit} {capabilities:#x}: {name} of {value:#x}");
                names.insert(name.clone());
                values += 1;
            }
        }
    }
    println!("{values} values of {registers} registers, {} fields: {names:?}", names.len());
    assert!(registers >= 1000 && names.len() >= 50, "{registers} {}", names.len());
}
