//! Writes a file in protobuf. Messages precede their contents with their size, so that all are visited twice: only one sample or entry
//! is in memory at a time.

use super::attributes::SCHEMA;
use super::data::ProfilesData;
use super::messages::Messages;
use perf_data::error::{Error, Result};
use prost::Message;
use prost::encoding::{self, WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use std::convert::Infallible;
use std::io::{self, BufWriter, Write};

/// Field numbers.
mod field {
    pub(super) const RESOURCE_PROFILES: u32 = 1;
    pub(super) const DICTIONARY: u32 = 2;
    pub(super) const RESOURCE: u32 = 1;
    pub(super) const SCOPE_PROFILES: u32 = 2;
    pub(super) const SCOPE: u32 = 1;
    pub(super) const PROFILES: u32 = 2;
    pub(super) const SCHEMA_URL: u32 = 3;
    pub(super) const SAMPLES: u32 = 2;
    pub(super) const MAPPING_TABLE: u32 = 1;
    pub(super) const LOCATION_TABLE: u32 = 2;
    pub(super) const FUNCTION_TABLE: u32 = 3;
    pub(super) const LINK_TABLE: u32 = 4;
    pub(super) const STRING_TABLE: u32 = 5;
    pub(super) const ATTRIBUTE_TABLE: u32 = 6;
    pub(super) const STACK_TABLE: u32 = 7;
}

/// Writes a file.
///
/// # Errors
/// Errors of `out`.
pub(super) fn write(data: &ProfilesData<'_>, out: &mut dyn Write) -> Result<()> {
    let mut encoder = OtlpEncoder { out: BufWriter::with_capacity(1 << 17, out), buffer: Vec::new() };
    encoder.write(data).map_err(Error::Output)
}

struct OtlpEncoder<'a> {
    out: BufWriter<&'a mut dyn Write>,
    /// Scratch buffer.
    buffer: Vec<u8>,
}

/// Size of a field with contents of this size.
fn field_len(field: u32, len: usize) -> usize {
    key_len(field) + encoded_len_varint(len as u64) + len
}

/// Size of a repeated field.
fn list_len(field: u32, list: &impl Messages) -> usize {
    let mut len = 0;
    let result: std::result::Result<(), Infallible> = list.for_each(&mut |message| {
        len += encoding::message::encoded_len(field, message);
        Ok(())
    });
    match result {
        Ok(()) => len,
    }
}

impl OtlpEncoder<'_> {
    fn write(&mut self, data: &ProfilesData<'_>) -> io::Result<()> {
        let schema_len = field_len(field::SCHEMA_URL, SCHEMA.len());
        let profile_lens =
            data.profiles().map(|(head, samples)| head.encoded_len() + list_len(field::SAMPLES, &samples));
        let profile_lens: Vec<usize> = profile_lens.collect();
        let profiles_len: usize = profile_lens.iter().map(|&len| field_len(field::PROFILES, len)).sum();
        let scope_len = encoding::message::encoded_len(field::SCOPE, &data.scope) + profiles_len + schema_len;
        let resource_len = encoding::message::encoded_len(field::RESOURCE, &data.resource)
            + field_len(field::SCOPE_PROFILES, scope_len)
            + schema_len;
        self.begin(field::RESOURCE_PROFILES, resource_len)?;
        self.message(field::RESOURCE, &data.resource)?;
        self.begin(field::SCOPE_PROFILES, scope_len)?;
        self.message(field::SCOPE, &data.scope)?;
        for ((head, samples), len) in data.profiles().zip(profile_lens) {
            self.begin(field::PROFILES, len)?;
            self.out.write_all(&head.encode_to_vec())?;
            self.list(field::SAMPLES, &samples)?;
        }
        // The schema URL of the scope's profiles, then that of the resource's profiles, which both end here.
        self.string(field::SCHEMA_URL, SCHEMA.as_bytes())?;
        self.string(field::SCHEMA_URL, SCHEMA.as_bytes())?;
        self.dictionary(data)?;
        self.out.flush()
    }

    fn dictionary(&mut self, data: &ProfilesData<'_>) -> io::Result<()> {
        let dictionary = &data.dictionary;
        let (mappings, locations, functions) = (dictionary.mappings(), dictionary.locations(), dictionary.functions());
        let (links, attributes, stacks) = (dictionary.links(), dictionary.attributes(), dictionary.stacks());
        let strings = dictionary.strings().map(|string| field_len(field::STRING_TABLE, string.len()));
        let len = list_len(field::MAPPING_TABLE, &mappings)
            + list_len(field::LOCATION_TABLE, &locations)
            + list_len(field::FUNCTION_TABLE, &functions)
            + list_len(field::LINK_TABLE, &links)
            + strings.sum::<usize>()
            + list_len(field::ATTRIBUTE_TABLE, &attributes)
            + list_len(field::STACK_TABLE, &stacks);
        self.begin(field::DICTIONARY, len)?;
        self.list(field::MAPPING_TABLE, &mappings)?;
        self.list(field::LOCATION_TABLE, &locations)?;
        self.list(field::FUNCTION_TABLE, &functions)?;
        self.list(field::LINK_TABLE, &links)?;
        dictionary.strings().try_for_each(|string| self.string(field::STRING_TABLE, string))?;
        self.list(field::ATTRIBUTE_TABLE, &attributes)?;
        self.list(field::STACK_TABLE, &stacks)
    }

    /// Begins a field with contents of this size.
    fn begin(&mut self, field: u32, len: usize) -> io::Result<()> {
        self.buffer.clear();
        encode_key(field, WireType::LengthDelimited, &mut self.buffer);
        encode_varint(len as u64, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    fn string(&mut self, field: u32, string: &[u8]) -> io::Result<()> {
        self.begin(field, string.len())?;
        self.out.write_all(string)
    }

    fn message(&mut self, field: u32, message: &impl Message) -> io::Result<()> {
        self.buffer.clear();
        encoding::message::encode(field, message, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    fn list(&mut self, field: u32, list: &impl Messages) -> io::Result<()> {
        list.for_each(&mut |message| self.message(field, message))
    }
}
