//! Every bit of one of each record type and feature is changed: it must show in a field that bears the name that the kernel
//! or perf gave it, and be written as it was changed. A definition that hides behind a blob has no such fields.

use crate::inputs::{FeatureInput, feature_of, record_of};
use perfconv::abi::feature::{Feature, FeatureId, FeatureSection};
use perfconv::abi::record::{Body, Record, RecordHeader, RecordType};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// The fields that show changes, of records that have others too: lists, and what lays out anew what follows. Counts and lengths
/// are in no field of their own: they are those of what they count. Of other records all fields show changes.
const RECORDS: &[(RecordType, &str)] = &[
    (RecordType::READ, "pid tid time_enabled time_running value id lost"),
    (
        RecordType::SAMPLE,
        "identifier ip task time addr id stream_id cpu period time_enabled time_running value lost callchain raw hw_idx \
         from to flags counters regs_user stack_user dyn_size weight data_src transaction regs_intr phys_addr cgroup \
         data_page_size code_page_size aux",
    ),
    (
        RecordType::MMAP2,
        "pid tid addr len pgoff maj min ino ino_generation size reserved_1 reserved_2 build_id prot flags filename",
    ),
    (RecordType::NAMESPACES, "pid tid dev ino"),
    (RecordType::TEXT_POKE, "addr new"),
    (
        RecordType::HEADER_ATTR,
        "kind config sample_period sample_type read_format flags wakeup_events bp_type bp_addr bp_len \
         branch_sample_type sample_regs_user sample_stack_user clockid sample_regs_intr aux_watermark sample_max_stack \
         reserved_2 aux_sample_size aux_action sig_data config3 config4 ids",
    ),
    (RecordType::ID_INDEX, "id idx cpu tid machine_pid vcpu"),
    (RecordType::AUXTRACE_ERROR, "kind code cpu pid tid fmt ip time msg machine_pid vcpu"),
    (RecordType::THREAD_MAP, "pid comm"),
    (RecordType::CPU_MAP, "kind cpu mask pad any_cpu start_cpu end_cpu"),
    (RecordType::STAT_CONFIG, "tag val"),
    (RecordType::EVENT_UPDATE, "kind id value any_cpu start_cpu end_cpu"),
    (
        RecordType::TIME_CONV,
        "time_shift time_mult time_zero time_cycles time_mask cap_user_time_zero cap_user_time_short reserved",
    ),
    (RecordType::BPF_METADATA, "prog_name key value"),
    (
        RecordType::SCHEDSTAT_CPU,
        "timestamp cpu pad yld_count array_exp sched_count sched_goidle ttwu_count ttwu_local rq_cpu_time run_delay \
         pcount",
    ),
    (
        RecordType::SCHEDSTAT_DOMAIN,
        "timestamp cpu domain count balanced failed imbalance gained hot_gained nobusyq nobusyg alb_count alb_failed \
         alb_pushed sbe_count sbe_balanced sbe_pushed sbf_count sbf_balanced sbf_pushed ttwu_wake_remote \
         ttwu_move_affine ttwu_move_balance",
    ),
];

/// The same of features.
const FEATURES: &[(FeatureId, &str)] = &[
    (FeatureId::TRACING_DATA, "version long_size page_size header_page header_event name formats"),
    (FeatureId::BUILD_ID, "kind misc pid build_id size filename"),
    (FeatureId::HOSTNAME, "bytes"),
    (FeatureId::OSRELEASE, "bytes"),
    (FeatureId::VERSION, "bytes"),
    (FeatureId::ARCH, "bytes"),
    (FeatureId::CPUDESC, "bytes"),
    (FeatureId::CPUID, "bytes"),
    (FeatureId::EVENT_DESC, "kind config sample_period sample_type read_format flags name ids"),
    (FeatureId::CPU_TOPOLOGY, "cores threads core_id socket_id die_ids"),
    (FeatureId::NUMA_TOPOLOGY, "node mem_total mem_free cpus"),
    (FeatureId::PMU_MAPPINGS, "kind name"),
    (FeatureId::GROUP_DESC, "name leader_idx nr_members"),
    (FeatureId::AUXTRACE, "file_offset sz"),
    (FeatureId::CACHE, "version level line_size sets ways kind size map"),
    (FeatureId::MEM_TOPOLOGY, "version block_size_bytes node size words"),
    (
        FeatureId::BPF_PROG_INFO,
        "arrays kind id tag jited_prog_len xlated_prog_len jited_prog_insns xlated_prog_insns load_time created_by_uid \
         nr_map_ids map_ids name ifindex gpl_compatible netns_dev netns_ino nr_jited_ksyms nr_jited_func_lens \
         jited_ksyms jited_func_lens btf_id func_info_rec_size func_info nr_func_info nr_line_info line_info \
         jited_line_info nr_jited_line_info line_info_rec_size jited_line_info_rec_size nr_prog_tags prog_tags \
         run_time_ns run_cnt recursion_misses verified_insns data",
    ),
    (FeatureId::BPF_BTF, "id data"),
    (FeatureId::CPU_PMU_CAPS, "name value"),
    (FeatureId::HYBRID_TOPOLOGY, "pmu_name cpus"),
    (FeatureId::PMU_CAPS, "name value pmu_name"),
    (FeatureId::CPU_DOMAIN_INFO, "max_sched_domains cpu domain cpumask cpulist"),
];

/// Features and records that are marks: there is nothing in them to change.
const MARKS: [FeatureId; 2] = [FeatureId::BRANCH_STACK, FeatureId::STAT];

#[test]
fn every_change_of_a_record_shows_in_a_field() {
    let mut changed = BTreeMap::<RecordType, Changed>::new();
    for (file, input) in inputs("record") {
        let (bytes, context) = record_of(&input, None).expect("an input is a record");
        let read = |bytes: &[u8]| {
            let record = Record::read(bytes, &context).expect("the size is that of the bytes");
            let is_decoded = !matches!(record.body, Body::Opaque(_));
            let written = record.to_bytes(context.endian).expect("what was read can be written");
            (is_decoded, written, record)
        };
        let kind = read(&bytes).2.header.kind;
        changed.entry(kind).or_default().add(&file, &bytes, RecordHeader::SIZE, read);
    }
    for &(kind, name) in RecordType::NAMED {
        let listed = RECORDS.iter().find(|(listed, _)| *listed == kind).map(|(_, fields)| (*fields).to_owned());
        changed.entry(kind).or_default().expect(name, &listed.unwrap_or_else(|| described("record", name)));
    }
    assert_eq!(changed.len(), RecordType::NAMED.len());
}

#[test]
fn every_change_of_a_feature_shows_in_a_field() {
    let mut changed = BTreeMap::<FeatureId, Changed>::new();
    for (file, input) in inputs("feature") {
        let FeatureInput { id, bytes, endian, context } = feature_of(&input).expect("an input is a feature");
        let read = |bytes: &[u8]| {
            let section = FeatureSection::read(id, bytes, endian, &context);
            let is_decoded = !matches!(section.feature, Feature::Opaque(_));
            let written = section.to_bytes(endian).expect("what was read can be written");
            (is_decoded, written, section)
        };
        changed.entry(id).or_default().add(&file, bytes, 0, read);
    }
    let with_fields = FeatureId::NAMED.iter().filter(|(id, _)| !MARKS.contains(id));
    for &(id, name) in with_fields {
        let listed = FEATURES.iter().find(|(listed, _)| *listed == id).map(|(_, fields)| (*fields).to_owned());
        changed.entry(id).or_default().expect(name, &listed.unwrap_or_else(|| described("feature", name)));
    }
    assert_eq!(changed.len() + MARKS.len(), FeatureId::NAMED.len());
}

/// The fields of a record or a feature by the JSON schema, which is derived from the definitions.
fn described(object: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(path).expect("there is a schema")).expect("it is JSON");
    let cases = schema["$defs"][object]["allOf"].as_array().expect("it has cases");
    let case = cases.iter().find(|case| case["if"]["properties"][object]["const"] == name).expect(name);
    let properties = case["then"]["properties"].as_object().expect("a case has properties");
    let mut fields = Vec::new();
    properties.values().for_each(|of| add_fields(&schema["$defs"], of, &mut fields));
    fields.join(" ")
}

/// Adds the names of the fields of a value, inner and outer. The schemas of texts, numbers and the like are in lower case.
fn add_fields(schemas: &Value, value: &Value, fields: &mut Vec<String>) {
    let referred = value["$ref"].as_str().and_then(|to| to.strip_prefix("#/$defs/"));
    if let Some(name) = referred.filter(|name| name.starts_with(char::is_uppercase)) {
        add_fields(schemas, &schemas[name], fields);
    }
    for variant in value["oneOf"].as_array().into_iter().flatten() {
        let values = variant["properties"].as_object().into_iter().flatten().map(|(_, value)| value);
        values
            .chain([variant].into_iter().filter(|variant| variant["properties"].is_null()))
            .for_each(|value| add_fields(schemas, value, fields));
    }
    for (name, value) in value["properties"].as_object().into_iter().flatten() {
        fields.push(name.clone());
        add_fields(schemas, value, fields);
    }
    if !value["items"].is_null() {
        add_fields(schemas, &value["items"], fields);
    }
}

/// What changes of one type's bytes changed.
#[derive(Default)]
struct Changed {
    /// Fields, by their names.
    fields: BTreeSet<String>,
}

impl Changed {
    /// Changes every bit of a value's bytes from `start` on. `read` says whether they are decoded, how they are written, and
    /// the value.
    fn add<T: Debug>(&mut self, file: &str, bytes: &[u8], start: usize, read: impl Fn(&[u8]) -> (bool, Vec<u8>, T)) {
        let (is_decoded, _, value) = read(bytes);
        assert!(is_decoded, "{file} is not decoded");
        let before = format!("{value:#?}");
        let mut bytes = bytes.to_vec();
        for bit in 8 * start..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (is_decoded, written, value) = read(&bytes);
            assert_eq!(written, bytes, "{file}: bit {bit} is not written as it was changed");
            let after = format!("{value:#?}");
            assert_ne!(before, after, "{file}: bit {bit} shows nowhere");
            // Where a count changed, what it counts is laid out anew.
            if is_decoded && before.lines().count() == after.lines().count() {
                self.fields.extend(differing_fields(&before, &after));
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    fn expect(&self, name: &str, fields: &str) {
        let missing: Vec<_> = fields.split_ascii_whitespace().filter(|&field| !self.fields.contains(field)).collect();
        assert!(missing.is_empty(), "{name}: no change shows in {missing:?}, but in {:?}", self.fields);
    }
}

/// The names of the fields, inner and outer, whose lines differ.
fn differing_fields(before: &str, after: &str) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    // The fields that a line is in, with how far each is indented.
    let mut around: Vec<(usize, &str)> = Vec::new();
    for (before, after) in before.lines().zip(after.lines()) {
        let text = before.trim_start();
        let indent = before.len() - text.len();
        around.retain(|&(outer, _)| outer < indent);
        let name = text.split_once(": ").map(|(name, _)| name);
        around.extend(name.map(|name| (indent, name)));
        if before != after {
            fields.extend(around.iter().map(|(_, name)| (*name).to_owned()));
        }
    }
    fields
}

/// One and more of everything.
fn inputs(folder: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus").join(folder);
    let entries = fs::read_dir(path).expect("the folder is there").map(|entry| entry.expect("it can be listed").path());
    entries.map(|path| (path.display().to_string(), fs::read(&path).expect("it can be read"))).collect()
}

#[test]
fn a_blob_has_no_fields() {
    let fields = |before: &str, after: &str| differing_fields(before, after).into_iter().collect::<Vec<_>>();
    let record = "Mmap {\n    pid: 1,\n    name: Text {\n        bytes: [\n            1,\n        ],\n    },\n}";
    assert_eq!(fields(record, &record.replace("pid: 1", "pid: 3")), ["pid"]);
    assert_eq!(fields(record, &record.replace("  1,", "  3,")), ["bytes", "name"]);
    let mut blob = Changed::default();
    let read = |bytes: &[u8]| (true, bytes.to_vec(), bytes.to_vec());
    blob.add("a blob", &[1, 2, 3], 0, read);
    assert!(blob.fields.is_empty());
}
