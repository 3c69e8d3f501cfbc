//! Programs, kernels and BPF programs.

use super::ScenarioLines;
use crate::synth::bpf::BpfProgram;
use crate::synth::scenario::code;
use crate::synth::scenario::file::File;
use crate::synth::scenario::file::process::ProcessTable;
use crate::synth::scenario::plan::{PlannedSpace, Process, Program};
use perf_data::abi::Endian;
use perf_data::abi::hex::from_hex;
use perf_data::error::{Error, Result};
use perf_symbols::object::image::{Image, ImageFunction, ImageTarget};
use perf_symbols::object::machine;
use std::collections::HashMap;
use toml::Spanned;

/// Address of the first program, and distance between programs.
const FIRST_MAP: u64 = 0x5555_0000_0000;
const MAP_STEP: u64 = 1 << 32;

/// Address of kernels, and the limit on their size.
const KERNEL: u64 = 0xffff_ffff_8100_0000;
const KERNEL_STEP: u64 = 0x0100_0000;

/// Address of the first BPF program, and distance between BPF programs.
const BPF: u64 = 0xffff_ffff_c000_0000;
const BPF_STEP: u64 = 0x1_0000;

/// Functions of an image.
struct ProgramRows<'a> {
    functions: &'a [Spanned<String>],
    size: &'a Spanned<u64>,
    key: &'a str,
}

impl ScenarioLines<'_> {
    pub(super) fn programs(&self, file: &File, endian: Endian) -> Result<(Vec<Program>, Vec<BpfProgram>)> {
        let arch = file.machine.arch.as_deref().unwrap_or("x86_64");
        let machine = machine::by_arch(arch);
        let machine =
            machine.ok_or_else(|| self.invalid(0..0, "machine.arch", format!("unknown architecture '{arch}'")))?;
        let target = ImageTarget { machine, is_64: true, endian };
        let mut programs: Vec<Program> = Vec::new();
        for (number, table) in file.program.iter().enumerate() {
            let path = table.path.get_ref();
            let is_path = path.starts_with('/') && !path.contains('\0') && !path.split('/').any(|part| part == "..");
            if !is_path || path.ends_with('/') {
                return Err(self.invalid(
                    table.path.span(),
                    "program.path",
                    format!("'{path}' is not an absolute path of a file"),
                ));
            }
            if programs.iter().any(|other| other.path == *path) {
                return Err(self.invalid(table.path.span(), "program.path", format!("duplicate path '{path}'")));
            }
            let base = FIRST_MAP + number as u64 * MAP_STEP;
            let functions = ProgramRows { functions: &table.functions, size: &table.function_size, key: "program" };
            programs.push(self.program(path, PlannedSpace::User, &functions, target, (base, MAP_STEP))?);
        }
        let kernels = [
            (&file.kernel, "[kernel.kallsyms]", PlannedSpace::Kernel, "kernel"),
            (&file.guest_kernel, "[guest.kernel.kallsyms]", PlannedSpace::GuestKernel, "guest_kernel"),
        ];
        for (table, path, space, key) in kernels {
            let Some(table) = table else { continue };
            let functions = ProgramRows { functions: &table.functions, size: &table.function_size, key };
            programs.push(self.program(path, space, &functions, target, (KERNEL - Image::START, KERNEL_STEP))?);
        }
        let mut bpf: Vec<BpfProgram> = Vec::new();
        for (number, table) in file.bpf.iter().enumerate() {
            let digits = from_hex(table.tag.get_ref().as_bytes()).and_then(|tag| tag.try_into().ok());
            let tag =
                digits.ok_or_else(|| self.invalid(table.tag.span(), "bpf.tag", "expected 16 hexadecimal digits"))?;
            let addr = BPF + number as u64 * BPF_STEP;
            let size = *table.size.get_ref();
            if addr < BPF || number as u64 >= 0x1000 || !(1..=BPF_STEP).contains(&size) {
                return Err(self.invalid(table.size.span(), "bpf.size", "expected 1 to 65536 bytes"));
            }
            let program = BpfProgram { name: table.name.get_ref().clone(), id: table.id, tag, addr, size: size as u32 };
            let name = [Spanned::new(table.name.span(), program.symbol())];
            let functions = ProgramRows { functions: &name, size: &table.size, key: "bpf" };
            let base = addr - Image::START;
            programs.push(self.program(
                "[bpf]",
                PlannedSpace::Kernel,
                &functions,
                target,
                (base, BPF_STEP + Image::START),
            )?);
            bpf.push(program);
        }
        Ok((programs, bpf))
    }

    /// A program mapped at `base`, with an image smaller than `limit`.
    fn program(
        &self,
        path: &str,
        space: PlannedSpace,
        table: &ProgramRows<'_>,
        target: ImageTarget,
        (base, limit): (u64, u64),
    ) -> Result<Program> {
        let ProgramRows { functions: names, size, key } = table;
        let function_size = *size.get_ref();
        let mut image = Image::new(target);
        let mut functions = HashMap::new();
        for name in *names {
            let function =
                ImageFunction { name: name.get_ref().clone().into(), size: function_size, ..ImageFunction::default() };
            let offset = image.push(function).filter(|_| function_size > 0 && image.end() < limit);
            let problem = || format!("functions need at least 1 byte each and less than {limit} together");
            let offset = offset.ok_or_else(|| self.invalid(size.span(), &format!("{key}.function_size"), problem()))?;
            let is_name = !name.get_ref().is_empty() && !name.get_ref().contains(['\0', '\n']);
            if functions.insert(name.get_ref().clone(), offset).is_some() || !is_name {
                let problem = format!("'{}' is a duplicate or an invalid name", name.get_ref());
                return Err(self.invalid(name.span(), &format!("{key}.functions"), problem));
            }
        }
        Ok(Program { path: path.to_owned(), space, image, base, functions, function_size })
    }

    pub(super) fn process(
        &self,
        table: &ProcessTable,
        programs: &[Program],
        cgroups: &mut Vec<String>,
    ) -> Result<Process> {
        let numbers = table.programs.iter().map(|path| {
            let is_it = |program: &Program| program.space == PlannedSpace::User && program.path == *path.get_ref();
            let problem = || format!("unknown program '{}'", path.get_ref());
            let number = programs.iter().position(is_it);
            number.ok_or_else(|| self.invalid(path.span(), "process.programs", problem()))
        });
        let programs = numbers.collect::<Result<_>>()?;
        let cgroup = table.cgroup.as_ref().map(|path| {
            let number = cgroups.iter().position(|other| other == path).unwrap_or_else(|| {
                cgroups.push(path.clone());
                cgroups.len() - 1
            });
            (1 + number as u64, path.clone())
        });
        if table.comm.contains('\0') {
            return Err(Error::invalid(format!("{}: process.comm: '{}' is not a valid name", self.name, table.comm)));
        }
        Ok(Process { pid: table.pid, is_guest: table.guest, cgroup, programs })
    }
}

impl Program {
    /// Generates code with these branches, which are sorted by source address, if the machine is supported and the limit on the
    /// size of code permits.
    pub(super) fn add_code(&mut self, branches: &[&(u64, u64, u64)], room: &mut u64) {
        let is_supported = self.space == PlannedSpace::User && code::is_supported(self.image.target.machine);
        let Some(left) = room.checked_sub(self.image.end()).filter(|_| is_supported) else { return };
        *room = left;
        let mut image = Image::new(self.image.target);
        let starts = self.functions.values().copied().collect();
        for (offset, function) in self.image.functions() {
            let start = self.base + offset;
            let before = |end: u64| branches.partition_point(|(from, ..)| *from < end);
            let within = &branches[before(start)..before(start + function.size)];
            let within = within.iter().map(|(from, to, _)| (from - start, to.checked_sub(self.base)));
            let code = code::function_code(*offset, function.size, within, &starts);
            let eh_frame = code::unwind(function.size as u32).into();
            image.offset(*offset, ImageFunction { code: code.into(), eh_frame, ..function.clone() });
        }
        self.image = image;
    }
}
