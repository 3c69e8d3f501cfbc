//! Feature sections: metadata about the machine, the events and the recording. A file's section has the same bytes as the data
//! of a HEADER_FEATURE record in a pipe. One file for each feature, and the enum over all of them.

pub mod auxtrace;
pub mod bpf_btf;
pub mod bpf_prog_info;
pub mod btf;
pub mod build_ids;
pub mod cache;
pub mod cln_size;
pub mod clock_data;
pub mod clockid;
pub mod compressed;
pub(crate) mod content;
pub mod cpu_domain_info;
pub mod cpu_topology;
pub mod descriptor;
pub mod dir_format;
pub mod e_machine;
pub mod event_desc;
pub mod group_desc;
pub mod hybrid_topology;
pub mod mark;
pub mod mem_topology;
pub mod nr_cpus;
pub mod numa_topology;
pub mod perf_reader;
pub mod pmu_caps;
pub mod pmu_mappings;
pub mod sample_time;
pub(crate) mod section;
pub mod string;
#[cfg(any(test, feature = "testing"))]
pub mod test_feature;
pub mod total_mem;
pub mod tracepoint_format;
pub mod tracing_data;

pub use content::{Feature, FeatureId};
pub use section::{FeatureContext, FeatureSection};
