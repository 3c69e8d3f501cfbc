//! A field for tests, the example in docs/contributing.md.

use super::field::FieldKind;
use super::value::FieldValue;
use crate::abi::bytes::{ByteReader, ByteWriter, Words};
use crate::abi::counted;
use crate::abi::serde::readable;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An example. Since Linux 7.3.
///
/// ```c
/// u32 pid, nr; u64 ips[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleField {
    /// Process.
    pub pid: u32,
    #[br(temp)]
    #[bw(calc = ips.len() as u32)]
    nr: u32,
    /// Its call chain.
    #[br(parse_with = counted::u64s, args(nr.into()))]
    #[serde(serialize_with = "readable::hex")]
    pub ips: Vec<u64>,
}

roles! { ExampleField { pid: task, ips: callchain(UNKNOWN) } }

/// An [`ExampleField`] borrowed from a SAMPLE.
#[derive(Clone, Copy, Debug)]
pub struct ExampleFieldView<'a> {
    /// Process.
    pub pid: u32,
    /// Its call chain.
    pub ips: Words<'a>,
}

impl fmt::Display for ExampleFieldView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pid)?;
        self.ips.iter().try_for_each(|ip| write!(f, ":{ip:x}"))
    }
}

impl FieldValue for ExampleField {
    const KIND: FieldKind = FieldKind::Variable;
    type View<'a> = ExampleFieldView<'a>;
    type Args = ();

    fn take<'a>(reader: &mut ByteReader<'a>, (): ()) -> Option<ExampleFieldView<'a>> {
        let (pid, nr) = (reader.u32()?, reader.u32()?);
        Some(ExampleFieldView { pid, ips: reader.words(nr.into())? })
    }

    fn encode(view: Option<ExampleFieldView<'_>>, (): (), out: &mut ByteWriter<'_>) {
        out.put(view.map_or(0, |view| view.pid));
        out.put(view.map_or(0, |view| view.ips.len() as u32));
        out.out.extend_from_slice(view.map_or(&[], |view| view.ips.as_bytes()));
    }
}
