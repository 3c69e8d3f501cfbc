//! Flips every bit of an input of each record type and feature: the flip must show in a field with the name that the kernel or
//! perf gave it, and must be encoded again as it is. A definition that keeps a blob has no such fields and fails.

use crate::inputs::{FeatureInput, feature_of, record_of};
use perf_data::abi::feature::{Feature, FeatureId, FeatureSection};
use perf_data::abi::record::{Body, Record, RecordHeader, RecordType};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// Fields that must show a flip, for records that also have lists, or fields whose value determines the layout of later ones.
/// Counts and lengths are not fields: they follow from what they count. Of all other records, every field must show a flip.
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

/// Same, for features.
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

/// Features and records that consist of their presence alone, without bytes to flip.
const MARKS: [FeatureId; 2] = [FeatureId::BRANCH_STACK, FeatureId::STAT];

#[test]
fn every_bit_flip_in_a_record_shows_in_a_field() {
    let mut flipped = BTreeMap::<RecordType, Flipped>::new();
    for (file, input) in inputs("record") {
        let (bytes, context) = record_of(&input, None).expect("an input should be a record");
        let read = |bytes: &[u8]| {
            let record = Record::read(bytes, &context).expect("the size should match the bytes");
            let is_decoded = !matches!(record.body, Body::Opaque(_));
            let written = record.to_bytes(context.endian).expect("a decoded value should encode");
            (is_decoded, written, record)
        };
        let kind = read(&bytes).2.header.kind;
        flipped.entry(kind).or_default().add(&file, &bytes, RecordHeader::SIZE, read);
    }
    for &(kind, name) in RecordType::NAMED {
        let listed = RECORDS.iter().find(|(listed, _)| *listed == kind).map(|(_, fields)| (*fields).to_owned());
        flipped
            .entry(kind)
            .or_default()
            .assert_fields(name, &listed.unwrap_or_else(|| fields_from_schema("record", name)));
    }
    assert_eq!(flipped.len(), RecordType::NAMED.len());
}

#[test]
fn every_bit_flip_in_a_feature_shows_in_a_field() {
    let mut flipped = BTreeMap::<FeatureId, Flipped>::new();
    for (file, input) in inputs("feature") {
        let FeatureInput { id, bytes, endian, context } = feature_of(&input).expect("an input should be a feature");
        let read = |bytes: &[u8]| {
            let section = FeatureSection::read(id, bytes, endian, &context);
            let is_decoded = !matches!(section.feature, Feature::Opaque(_));
            let written = section.to_bytes(endian).expect("a decoded value should encode");
            (is_decoded, written, section)
        };
        flipped.entry(id).or_default().add(&file, bytes, 0, read);
    }
    let with_fields = FeatureId::NAMED.iter().filter(|(id, _)| !MARKS.contains(id));
    for &(id, name) in with_fields {
        let listed = FEATURES.iter().find(|(listed, _)| *listed == id).map(|(_, fields)| (*fields).to_owned());
        flipped
            .entry(id)
            .or_default()
            .assert_fields(name, &listed.unwrap_or_else(|| fields_from_schema("feature", name)));
    }
    assert_eq!(flipped.len() + MARKS.len(), FeatureId::NAMED.len());
}

/// Returns the fields of a record or a feature according to the JSON schema, which is derived from the definitions.
fn fields_from_schema(object: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let schema: Value = serde_json::from_slice(&fs::read(path).expect("the schema should exist")).expect("valid JSON");
    let cases = schema["$defs"][object]["allOf"].as_array().expect("the schema should have cases");
    let case = cases.iter().find(|case| case["if"]["properties"][object]["const"] == name).expect(name);
    let properties = case["then"]["properties"].as_object().expect("a case should have properties");
    let mut fields = Vec::new();
    properties.values().for_each(|of| add_fields(&schema["$defs"], of, &mut fields));
    fields.join(" ")
}

/// Adds the names of the fields of a value, outer and nested. Names of schemas of primitive types are lower case.
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

/// The fields that differed after flips in inputs of one type.
#[derive(Default)]
struct Flipped {
    /// Field names.
    fields: BTreeSet<String>,
}

impl Flipped {
    /// Flips each bit of a value's bytes from `start` on. `read` returns whether they are decoded, their encoding, and the value.
    /// The names of the fields are those of one bit of each byte: printing all values takes most of the time.
    fn add<T: Debug + PartialEq>(
        &mut self,
        file: &str,
        bytes: &[u8],
        start: usize,
        read: impl Fn(&[u8]) -> (bool, Vec<u8>, T),
    ) {
        let (is_decoded, _, original) = read(bytes);
        assert!(is_decoded, "{file} is not decoded");
        let before = format!("{original:#?}");
        let mut bytes = bytes.to_vec();
        for bit in 8 * start..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (is_decoded, written, value) = read(&bytes);
            assert_eq!(written, bytes, "{file}: bit {bit} is not preserved when encoded");
            assert!(value != original, "{file}: bit {bit} shows in no field");
            if is_decoded && bit % 8 == bit / 8 % 8 {
                let after = format!("{value:#?}");
                // A changed count changes the layout of what it counts.
                if before.lines().count() == after.lines().count() {
                    self.fields.extend(differing_fields(&before, &after));
                }
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    fn assert_fields(&self, name: &str, fields: &str) {
        let missing: Vec<_> = fields.split_ascii_whitespace().filter(|&field| !self.fields.contains(field)).collect();
        assert!(missing.is_empty(), "{name}: no flip shows in {missing:?}, only in {:?}", self.fields);
    }
}

/// Returns the names of the fields, outer and nested, whose lines differ.
fn differing_fields(before: &str, after: &str) -> BTreeSet<String> {
    let mut fields = BTreeSet::new();
    // Enclosing fields of the current line, with their indentation.
    let mut enclosing: Vec<(usize, &str)> = Vec::new();
    for (before, after) in before.lines().zip(after.lines()) {
        let text = before.trim_start();
        let indent = before.len() - text.len();
        enclosing.retain(|&(outer, _)| outer < indent);
        let name = text.split_once(": ").map(|(name, _)| name);
        enclosing.extend(name.map(|name| (indent, name)));
        if before != after {
            fields.extend(enclosing.iter().map(|(_, name)| (*name).to_owned()));
        }
    }
    fields
}

/// Reads all corpus inputs of a fuzz target.
fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus").join(target);
    let entries = fs::read_dir(path)
        .expect("the directory should exist")
        .map(|entry| entry.expect("the directory should be listable").path());
    entries.map(|path| (path.display().to_string(), fs::read(&path).expect("reading should succeed"))).collect()
}

#[test]
fn a_blob_has_no_fields() {
    let fields = |before: &str, after: &str| differing_fields(before, after).into_iter().collect::<Vec<_>>();
    let record = "Mmap {\n    pid: 1,\n    name: Text {\n        bytes: [\n            1,\n        ],\n    },\n}";
    assert_eq!(fields(record, &record.replace("pid: 1", "pid: 3")), ["pid"]);
    assert_eq!(fields(record, &record.replace("  1,", "  3,")), ["bytes", "name"]);
    let mut blob = Flipped::default();
    let read = |bytes: &[u8]| (true, bytes.to_vec(), bytes.to_vec());
    blob.add("a blob", &[1, 2, 3], 0, read);
    assert!(blob.fields.is_empty());
}
