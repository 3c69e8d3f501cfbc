//! Feature CPU_DOMAIN_INFO.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use super::string::PerfStr;
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Scheduling domains of each CPU. Since perf 7.0.
///
/// ```c
/// u32 schedstat_version, max_sched_domains;
/// struct {
///     u32 cpu, nr_domains;
///     struct { u32 domain; string dname; string cpumask, cpulist; } domains[nr_domains];  // dname from version 17 on
/// } cpus[nr_cpus_online];
/// ```
/// Decoding needs the number of CPUs (feature NRCPUS), without which the CPUs are left to the caller.
#[binrw]
#[br(import(nr_cpus_online: Option<u32>))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuDomainInfo {
    /// Version of `/proc/schedstat`.
    pub schedstat_version: u32,
    /// Maximum number of domains of a CPU.
    pub max_sched_domains: u32,
    /// The CPUs.
    #[br(parse_with = counted::items_with, args(nr_cpus_online.unwrap_or(0).into(), schedstat_version))]
    pub cpus: Vec<CpuDomains>,
}

/// A CPU and its domains.
#[binrw]
#[br(import_raw(version: u32))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuDomains {
    /// CPU number.
    pub cpu: u32,
    #[br(temp)]
    #[bw(calc = domains.len() as u32)]
    nr_domains: u32,
    /// Its domains, smallest first.
    #[br(parse_with = counted::items_with, args(nr_domains.into(), version))]
    pub domains: Vec<Domain>,
}

/// A scheduling domain.
#[binrw]
#[br(import_raw(version: u32))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Index.
    pub domain: u32,
    /// Name, such as `MC`.
    #[br(if(version >= 17))]
    pub dname: Option<PerfStr>,
    /// CPUs as a hexadecimal mask.
    pub cpumask: PerfStr,
    /// CPUs as a list.
    pub cpulist: PerfStr,
}

/// Descriptor of CPU_DOMAIN_INFO.
pub const CPU_DOMAIN_INFO: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CPU_DOMAIN_INFO, (7, 0));

roles! { CpuDomainInfo { schedstat_version: number, max_sched_domains: number, cpus: fields } }

roles! { CpuDomains { cpu: number, domains: fields } }

impl VisitFields for Domain {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { domain: _, dname, cpumask, cpulist } = self;
        for (name, text) in [("dname", dname.as_mut()), ("cpumask", Some(cpumask)), ("cpulist", Some(cpulist))] {
            text.into_iter().for_each(|text| visitor.text(TextRole::Topology, TextField::new(name, text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes_of_each_version() {
        let text = |text: &[u8]| PerfStr { bytes: text.to_vec() };
        let info = |schedstat_version, dname| {
            let domains = vec![Domain { domain: 0, dname, cpumask: text(b"3"), cpulist: text(b"0-1") }];
            CpuDomainInfo { schedstat_version, max_sched_domains: 1, cpus: vec![CpuDomains { cpu: 5, domains }] }
        };
        both_orders(
            &info(15, None),
            (Some(1),),
            "0f000000 01000000 05000000 01000000 00000000 01000000 '3' 03000000 '0-1'",
            "0000000f 00000001 00000005 00000001 00000000 00000001 '3' 00000003 '0-1'",
        );
        both_orders(
            &info(17, Some(text(b"MC"))),
            (Some(1),),
            "11000000 01000000 05000000 01000000 00000000 02000000 'MC' 01000000 '3' 03000000 '0-1'",
            "00000011 00000001 00000005 00000001 00000000 00000002 'MC' 00000001 '3' 00000003 '0-1'",
        );
    }
}
