//! Minimal parser of the recording to grow.

/// Record types.
pub(crate) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const THROTTLE: u32 = 5;
    pub(crate) const UNTHROTTLE: u32 = 6;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const READ: u32 = 8;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const ITRACE_START: u32 = 12;
    pub(crate) const SWITCH_CPU_WIDE: u32 = 15;
    pub(crate) const NAMESPACES: u32 = 16;
    pub(crate) const KSYMBOL: u32 = 17;
    pub(crate) const BPF_EVENT: u32 = 18;
    /// perf itself, not the kernel, writes records of this type and above.
    pub(crate) const FIRST_USER: u32 = 64;
    pub(crate) const HEADER_ATTR: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const HEADER_FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// A recording in memory.
pub(crate) struct Recording {
    bytes: Vec<u8>,
    pub sample_type: u64,
    pub sample_id_all: bool,
    attr_size: usize,
    attrs: (usize, usize),
    data: (usize, usize),
    /// Feature bits and their sections.
    features: Vec<(u32, (usize, usize))>,
}

impl Recording {
    /// Parses a recording; `None` if it is not of the kind that can be grown.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Recording> {
        if !bytes.starts_with(b"PERFILE2") || word(&bytes, 8)? != 104 {
            return None;
        }
        let section = |at| Some((word(&bytes, at)? as usize, word(&bytes, at + 8)? as usize));
        let (attr_size, attrs, data) = (word(&bytes, 16)? as usize, section(24)?, section(40)?);
        let bits = (0..256).filter(|bit| bytes[72 + bit / 8] >> (bit % 8) & 1 == 1);
        let table = data.0.checked_add(data.1)?;
        let features = bits
            .enumerate()
            .map(|(slot, bit)| Some((bit as u32, section(table + 16 * slot)?)))
            .collect::<Option<_>>()?;
        let mut recording = Recording { sample_type: 0, sample_id_all: false, attr_size, attrs, data, features, bytes };
        let mut layouts = recording.attrs().map(|attr| (word(attr, 24), word(attr, 40).map(|flags| flags >> 18 & 1)));
        let (sample_type, sample_id_all) = layouts.next()?;
        let is_uniform = layouts.all(|layout| layout == (sample_type, sample_id_all));
        drop(layouts);
        recording.sample_type = sample_type?;
        recording.sample_id_all = sample_id_all? == 1;
        let is_plain = |record| {
            !matches!(kind(record), kind::TRACING_DATA | kind::AUXTRACE | kind::COMPRESSED | kind::COMPRESSED2)
        };
        (is_uniform && recording.records().all(is_plain)).then_some(recording)
    }

    /// The attrs, each followed by its section of ids.
    fn attrs(&self) -> impl Iterator<Item = &[u8]> {
        self.section(self.attrs).chunks(self.attr_size)
    }

    /// The attrs and their ids.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.attrs().map(|entry| {
            let (attr, ids) = entry.split_at(self.attr_size - 16);
            let [offset, size] = [0, 8].map(|at| word(ids, at).expect("an entry should end with two words") as usize);
            (attr, self.section((offset, size)))
        })
    }

    /// The feature bits and their bytes.
    pub(crate) fn features(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.features.iter().map(|&(bit, section)| (bit, self.section(section)))
    }

    /// The complete records of the data section.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.section(self.data);
        std::iter::from_fn(move || {
            let size = u16::from_le_bytes(*rest.get(6..)?.first_chunk()?) as usize;
            let (record, next) = rest.split_at_checked(size).filter(|_| size >= 8)?;
            rest = next;
            Some(record)
        })
    }

    /// Everything before the data: header, ids and attrs.
    pub(crate) fn head(&self) -> &[u8] {
        &self.bytes[..self.data.0]
    }

    fn section(&self, (offset, size): (usize, usize)) -> &[u8] {
        let end = offset.saturating_add(size).min(self.bytes.len());
        &self.bytes[offset.min(end)..end]
    }
}

/// The type of a record.
pub(crate) fn kind(record: &[u8]) -> u32 {
    u32::from_le_bytes([record[0], record[1], record[2], record[3]])
}

/// The u64 at an offset, if the bytes are long enough.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}
