//! Programs that are built again with profiles: the exact numbers of branches that they take, with the profile of another tool from the
//! same recording beside ours.
//!
//! Branches are counted by a plugin for QEMU, which is beside the repository with the sources of the programs.

use crate::common::branch_profiles::{Goldens, profile};
use crate::common::oracle::{has_program, llvm_tool};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Maximum difference of the numbers of taken branches.
const DIFFERENCE: f64 = 0.02;

/// A directory for programs, the sources, and the plugin that counts branches.
struct Rebuild {
    work: tempfile::TempDir,
    shared: PathBuf,
    plugin: PathBuf,
    goldens: Goldens,
}

impl Rebuild {
    /// `None` if a program is missing.
    fn new() -> Option<Self> {
        let goldens = Goldens::find()?;
        if !has_program("qemu-x86_64") || !has_program("gcc") {
            return None;
        }
        let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/pgo").canonicalize().ok()?;
        let work = tempfile::tempdir().unwrap();
        let plugin = work.path().join("brtrace.so");
        let source = shared.join("tracer/brtrace.c");
        run(Command::new("gcc").args(["-O2", "-w", "-shared", "-fPIC", "-o"]).arg(&plugin).arg(source));
        Some(Self { work, shared, plugin, goldens })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// The number of branches that a program takes.
    fn taken(&self, program: &Path) -> f64 {
        let prefix = self.path("counts");
        let options = format!("{},out={},period=1000003,depth=4,mode=branch", self.plugin.display(), prefix.display());
        run(Command::new("qemu-x86_64").arg("-plugin").arg(options).arg(program).arg("1"));
        let truth = fs::read_to_string(prefix.with_extension("truth")).unwrap();
        let taken = truth.lines().find_map(|line| line.strip_prefix("taken "));
        taken.and_then(|taken| taken.parse().ok()).expect("a number of taken branches")
    }

    /// Writes our profile of a recording.
    fn profile(&self, recording: &str, arguments: &str, name: &str) -> PathBuf {
        let run = profile(&self.goldens.recording(recording), &self.goldens.files(), arguments);
        assert_eq!(run.status, 0, "{}", run.stderr);
        fs::write(self.path(name), run.stdout).unwrap();
        self.path(name)
    }

    /// Writes a profile of another tool.
    fn golden(&self, golden: &str) -> PathBuf {
        let path = self.path(golden);
        fs::write(&path, self.goldens.golden(golden)).unwrap();
        path
    }

    /// Compares the programs that a compiler makes with our profile and with another one, which `option` names.
    fn compare_compiled(&self, compiler: &Path, arguments: &[&str], option: &str, profiles: [&Path; 2]) {
        let compile = |profile: Option<&Path>, name: &str| {
            let mut command = Command::new(compiler);
            command.args(["-O2", "-w", "-gdwarf-4", "-no-pie"]).args(arguments);
            command.args(profile.map(|profile| format!("{option}={}", profile.display())));
            run(command.arg(self.shared.join("src/interp.c")).arg("-o").arg(self.path(name)));
            self.path(name)
        };
        let [ours, theirs] = profiles;
        let [ours, theirs] = [(ours, "ours"), (theirs, "theirs")].map(|(profile, name)| compile(Some(profile), name));
        self.compare(&compiler.display().to_string(), &compile(None, "without"), &ours, &theirs);
    }

    /// Compares the program that was built without a profile with those built with ours and with another one.
    fn compare(&self, compiler: &str, without: &Path, ours: &Path, theirs: &Path) {
        let [without, ours, theirs] = [without, ours, theirs].map(|program| self.taken(program));
        let change = |taken: f64| 100.0 * (taken / without - 1.0);
        note!("{compiler}: {without} taken branches; {:+.1} %, theirs {:+.1} %", change(ours), change(theirs));
        assert!(ours < 0.95 * without, "{compiler}");
        assert!((ours / theirs - 1.0).abs() < DIFFERENCE, "{compiler}: {ours}, {theirs}");
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn clang_and_bolt_make_of_our_profiles_what_they_make_of_those_of_llvm() {
    let tools = ["clang", "perf2bolt", "llvm-bolt"].map(llvm_tool);
    let ([Some(clang), Some(perf2bolt), Some(bolt)], Some(rebuild)) = (tools, Rebuild::new()) else { return };
    let ours = rebuild.profile("interp", "-t llvm", "interp.sampleprof");
    let theirs = rebuild.golden("interp.llvm.extbinary");
    let arguments = ["-g", "-fdebug-info-for-profiling", "-fno-pie"];
    rebuild.compare_compiled(&clang, &arguments, "-fprofile-sample-use", [&ours, &theirs]);

    let program = rebuild.goldens.files().join("opt/bench/interp");
    let records = rebuild.profile("interp", "-t bolt", "interp.preagg");
    let fdata = rebuild.path("ours.fdata");
    run(Command::new(perf2bolt).args(["--pa", "-p"]).arg(records).arg(&program).arg("-o").arg(&fdata));
    let optimized = [(fdata, "bolt-ours"), (rebuild.golden("interp.fdata"), "bolt-theirs")].map(|(fdata, name)| {
        let mut command = Command::new(&bolt);
        command.arg(&program).arg("-o").arg(rebuild.path(name)).arg(format!("-data={}", fdata.display()));
        run(command.args(["-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions"]));
        rebuild.path(name)
    });
    rebuild.compare("BOLT", &program, &optimized[0], &optimized[1]);
}

#[test]
fn gcc_makes_of_our_profiles_what_it_makes_of_those_of_autofdo() {
    let Some(rebuild) = Rebuild::new() else { return };
    let ours = rebuild.profile("interp-gcc", "-t gcc", "ours.afdo");
    let theirs = rebuild.golden("interp-gcc.afdo");
    rebuild.compare_compiled(Path::new("gcc"), &[], "-fauto-profile", [&ours, &theirs]);
}
