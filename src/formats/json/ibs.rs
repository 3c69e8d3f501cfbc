//! Decoded registers of AMD Instruction-Based Sampling, written in addition to the raw data of a sample.

use perf_data::abi::serde::readable;
use perf_data::ibs::{IbsRegister, IbsSample};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The registers of a sample by name: each an address, or an object of its fields.
pub(super) struct IbsRegisters<'a>(pub IbsSample<'a>);

impl Serialize for IbsRegisters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut output = serializer.serialize_map(None)?;
        output.serialize_entry("capabilities", &Address(self.0.capabilities.into()))?;
        for (register, word) in self.0.registers() {
            match register.fields {
                [] => output.serialize_entry(register.name, &Address(word))?,
                _ => output.serialize_entry(register.name, &RegisterFields { register, word })?,
            }
        }
        output.end()
    }
}

/// A number in hexadecimal.
struct Address(u64);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        readable::hex(&self.0, serializer)
    }
}

/// The fields of a register by name.
struct RegisterFields {
    register: &'static IbsRegister,
    word: u64,
}

impl Serialize for RegisterFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.register.fields.iter().map(|(name, value)| (name, value(self.word))))
    }
}
