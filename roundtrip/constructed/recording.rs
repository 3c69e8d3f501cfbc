//! Builder of recordings.

use super::bytes::Bytes;
use perf_data::abi::Endian;

/// A `perf_event_attr`, with bit-fields by number, and the event's IDs.
#[derive(Clone, Debug, Default)]
pub(super) struct Event {
    pub kind: u32,
    pub size: usize,
    pub config: u64,
    pub sample_type: u64,
    pub read_format: u64,
    /// Numbers of the bits that are set, in order of declaration.
    pub flags: &'static [u32],
    pub precise_ip: u64,
    pub branch_sample_type: u64,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub aux_sample_size: u32,
    pub sig_data: u64,
    pub ids: Vec<u64>,
}

/// Bits of `sample_type`.
pub(super) const IP: u64 = 1 << 0;
pub(super) const TID: u64 = 1 << 1;
pub(super) const TIME: u64 = 1 << 2;
pub(super) const ID: u64 = 1 << 6;
pub(super) const CPU: u64 = 1 << 7;
pub(super) const PERIOD: u64 = 1 << 8;
pub(super) const RAW: u64 = 1 << 10;
pub(super) const BRANCH_STACK: u64 = 1 << 11;
pub(super) const CALLCHAIN: u64 = 1 << 5;
pub(super) const IDENTIFIER: u64 = 1 << 16;
pub(super) const REGS_INTR: u64 = 1 << 18;
pub(super) const AUX: u64 = 1 << 20;

/// Numbers of the attr's bit-fields.
pub(super) const SAMPLE_ID_ALL: u32 = 18;
pub(super) const AUX_OUTPUT: u32 = 31;
pub(super) const SIGTRAP: u32 = 37;
const PRECISE_IP: u32 = 15;

impl Event {
    /// Creates the software event cpu-clock, whose samples have the given fields.
    pub(super) fn cpu_clock(sample_type: u64) -> Self {
        Self { kind: 1, size: 128, sample_type, flags: &[SAMPLE_ID_ALL], ..Self::default() }
    }

    fn attr(&self, endian: Endian) -> Vec<u8> {
        let flags: Vec<(u64, u32)> = (0..64)
            .filter(|&flag| flag != PRECISE_IP + 1)
            .map(|flag| match flag {
                PRECISE_IP => (self.precise_ip, 2),
                _ => (u64::from(self.flags.contains(&flag)), 1),
            })
            .collect();
        let (bp_type, bp_addr, bp_len) = (0, 0, 0);
        let (regs_user, stack_user, clockid) = (0, 0, 0);
        let bytes = Bytes::new(endian).u32(self.kind).u32(self.size as u32).u64(self.config).u64(1000);
        let bytes = bytes.u64(self.sample_type).u64(self.read_format).bit_fields(&flags);
        let bytes = bytes.u32(1).u32(bp_type).u64(bp_addr).u64(bp_len).u64(self.branch_sample_type);
        let bytes = bytes.u64(regs_user).u32(stack_user).u32(clockid).u64(self.sample_regs_intr);
        let bytes = bytes.u32(self.aux_watermark).u16(0).u16(0).u32(self.aux_sample_size).u32(0).u64(self.sig_data);
        let mut bytes = bytes.into_vec();
        bytes.truncate(self.size);
        bytes
    }
}

/// Encodes a record with its header.
pub(super) fn record(kind: u32, misc: u16, body: Bytes, endian: Endian) -> Vec<u8> {
    let body = body.into_vec();
    let header = Bytes::new(endian).u32(kind).u16(misc).u16((8 + body.len()) as u16);
    header.raw(&body).into_vec()
}

/// A recording in a file.
pub(super) struct File {
    pub endian: Endian,
    pub magic_of_v1: bool,
    /// 104, or 72 for a header without features.
    pub header_size: usize,
    /// Size of the recorder's `unsigned long`.
    pub long_size: usize,
    pub events: Vec<Event>,
    pub event_types: Vec<(u64, &'static str)>,
    pub records: Vec<Vec<u8>>,
    pub features: Vec<(u32, Vec<u8>)>,
}

const RECORD_HEADER_ATTR: u32 = 64;
const RECORD_AUXTRACE: u32 = 71;
const HOSTNAME: u32 = 3;
const ARCH: u32 = 6;
const FEATURE_AUXTRACE: u32 = 18;

impl File {
    /// Creates a file of version 2 with the features that perf requires.
    pub(super) fn new(endian: Endian, events: Vec<Event>, records: Vec<Vec<u8>>) -> Self {
        let mut file = Self {
            endian,
            magic_of_v1: false,
            header_size: 104,
            long_size: 8,
            events,
            event_types: Vec::new(),
            records,
            features: Vec::new(),
        };
        file.feature(HOSTNAME, Bytes::new(endian).string("constructed"));
        file
    }

    /// Adds the architecture, by which perf chooses decoders of raw data.
    pub(super) fn arch(&mut self, name: &str) {
        self.feature(ARCH, Bytes::new(self.endian).string(name));
    }

    pub(super) fn feature(&mut self, bit: u32, bytes: Bytes) {
        self.features.push((bit, bytes.into_vec()));
        self.features.sort();
    }

    /// Encodes the file: header, IDs, attrs, event types, records, feature table, features.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        let endian = self.endian;
        let new = || Bytes::new(endian);
        let mut ids_at = self.header_size as u64;
        let (mut ids, mut attrs) = (new(), new());
        for event in &self.events {
            let size = 8 * event.ids.len() as u64;
            attrs = attrs.raw(&event.attr(self.endian)).u64(ids_at).u64(size);
            ids = ids.u64s(&event.ids);
            ids_at += size;
        }
        let types = self.event_types.iter().fold(new(), |bytes, (id, name)| bytes.u64(*id).text(name, 64));
        let attrs_at = ids_at;
        let types_at = attrs_at + attrs.len() as u64;
        let data_at = types_at + types.len() as u64;
        self.index_auxtrace(data_at);

        let data = self.records.concat();
        let data_end = data_at + data.len() as u64;
        let mut feature_at = data_end + 16 * self.features.len() as u64;
        let (mut table, mut features, mut bits) = (new(), new(), vec![0_u64; 256 / (8 * self.long_size)]);
        for (bit, bytes) in &self.features {
            table = table.u64(feature_at).u64(bytes.len() as u64);
            features = features.raw(bytes);
            feature_at += bytes.len() as u64;
            let word = 8 * self.long_size as u32;
            bits[(bit / word) as usize] |= 1 << (bit % word);
        }
        let magic = if self.magic_of_v1 { new().raw(b"PERFFILE") } else { new().u64(u64::from_le_bytes(*b"PERFILE2")) };
        let attr_size = (self.events.iter().map(|event| event.size).max().unwrap_or(0) + 16) as u64;
        let mut header = magic.u64(self.header_size as u64).u64(attr_size);
        header = header.u64(attrs_at).u64(attrs.len() as u64).u64(data_at).u64(data.len() as u64);
        header = if types.len() == 0 { header.u64(0).u64(0) } else { header.u64(types_at).u64(types.len() as u64) };
        if self.header_size == 104 {
            header = match self.long_size {
                4 => bits.iter().fold(header, |header, &word| header.u32(word as u32)),
                _ => header.u64s(&bits),
            };
        }
        [header, ids, attrs, types, new().raw(&data), table, features].map(Bytes::into_vec).concat()
    }

    /// Adds the feature that locates the AUXTRACE records.
    fn index_auxtrace(&mut self, data_at: u64) {
        let mut at = data_at;
        let mut index = Vec::new();
        for record in &self.records {
            let kind = *record.first_chunk::<4>().expect("a record should have a header");
            let kind = if self.endian == Endian::Big { u32::from_be_bytes(kind) } else { u32::from_le_bytes(kind) };
            if kind == RECORD_AUXTRACE {
                index.extend([at, 48]);
            }
            at += record.len() as u64;
        }
        if !index.is_empty() {
            let nr = index.len() as u64 / 2;
            self.feature(FEATURE_AUXTRACE, Bytes::new(self.endian).u64(nr).u64s(&index));
        }
    }
}

/// Encodes a recording in a pipe, with its attrs in records.
pub(super) fn pipe(endian: Endian, magic_of_v1: bool, events: &[Event], records: Vec<Vec<u8>>) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let magic = if magic_of_v1 { new().raw(b"PERFFILE") } else { new().u64(u64::from_le_bytes(*b"PERFILE2")) };
    let attr = |event: &Event| record(RECORD_HEADER_ATTR, 0, new().raw(&event.attr(endian)).u64s(&event.ids), endian);
    [magic.u64(16).into_vec(), events.iter().flat_map(attr).collect(), records.concat()].concat()
}
