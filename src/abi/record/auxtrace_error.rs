//! `PERF_RECORD_AUXTRACE_ERROR`.

use super::descriptor::RecordDescriptor;
use super::{CpuMode, RecordType};
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::readable;
use crate::abi::text::PaddedStr;
use crate::open_enum;
use crate::roles;
use binrw::{BinResult, Endian, binrw};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};

open_enum! {
    /// What could not be decoded.
    AuxtraceErrorType: u32 {
        /// A trace of instructions.
        ITRACE = 1,
    }
}

/// Decoding the AUX area failed at some place. Since perf 4.2.
///
/// ```c
/// u32 type, code, cpu, pid, tid, fmt; u64 ip;
/// u64 time;               // fmt 1 (perf 5.1) and above
/// char msg[];             // of 64 bytes with fmt 2
/// u32 machine_pid, vcpu;  // fmt 2 (perf 6.0)
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxtraceError {
    /// What could not be decoded.
    pub kind: AuxtraceErrorType,
    /// The decoder's number of the error.
    pub code: u32,
    /// CPU, -1 for any.
    pub cpu: i32,
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Which of the fields below are there.
    pub fmt: u32,
    /// Address that it happened at.
    #[serde(serialize_with = "readable::hex")]
    pub ip: u64,
    /// Nanoseconds of the recording's clock.
    #[br(if(fmt >= 1))]
    pub time: Option<u64>,
    /// What went wrong.
    #[br(parse_with = message, args(fmt))]
    pub msg: PaddedStr,
    /// The guest that it happened in.
    #[br(if(fmt >= 2))]
    pub guest: Option<AuxtraceErrorGuest>,
}

/// The guest that an error happened in.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxtraceErrorGuest {
    /// Process of the virtual machine on the host; 0 for the host itself.
    pub machine_pid: u32,
    /// The guest's CPU.
    pub vcpu: u32,
}

/// Size of the message where something follows it.
const MAX_AUXTRACE_ERROR_MSG: u64 = 64;

fn message<R: Read + Seek>(reader: &mut R, endian: Endian, (fmt,): (u32,)) -> BinResult<PaddedStr> {
    let bytes = match fmt {
        0 | 1 => counted::bytes_to_end(reader, endian, ()),
        _ => counted::bytes(reader, endian, (MAX_AUXTRACE_ERROR_MSG,)),
    };
    bytes.map(PaddedStr::from)
}

/// Descriptor of AUXTRACE_ERROR.
pub const AUXTRACE_ERROR: RecordDescriptor =
    RecordDescriptor::event(RecordType::AUXTRACE_ERROR, (4, 2), 49).confidential();

impl VisitFields for AuxtraceError {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { kind: _, code: _, cpu: _, pid, tid, fmt: _, ip, time, msg, guest } = self;
        visitor.task(pid.into());
        visitor.task(tid.into());
        visitor.address(CpuMode::UNKNOWN, ip);
        time.iter_mut().for_each(|time| visitor.time(time));
        visitor.text(TextRole::Any, TextField::new("msg", msg));
        guest.visit_fields(visitor);
    }
}

roles! { AuxtraceErrorGuest { machine_pid: guest, vcpu: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes_of_each_format() {
        let mut error = AuxtraceError {
            kind: AuxtraceErrorType::ITRACE,
            code: 5,
            cpu: 2,
            pid: 100,
            tid: 101,
            fmt: 0,
            ip: 0x40_1000,
            time: None,
            msg: PaddedStr::new(b"Lost", 8),
            guest: None,
        };
        let little = "01000000 05000000 02000000 64000000 65000000";
        let big = "00000001 00000005 00000002 00000064 00000065";
        both_orders(
            &error,
            (),
            &format!("{little} 00000000 0010400000000000 'Lost' 00000000"),
            &format!("{big} 00000000 0000000000401000 'Lost' 00000000"),
        );
        (error.fmt, error.time) = (1, Some(9));
        both_orders(
            &error,
            (),
            &format!("{little} 01000000 0010400000000000 0900000000000000 'Lost' 00000000"),
            &format!("{big} 00000001 0000000000401000 0000000000000009 'Lost' 00000000"),
        );
        (error.fmt, error.msg) = (2, PaddedStr::new(b"Lost", 64));
        error.guest = Some(AuxtraceErrorGuest { machine_pid: 7, vcpu: 1 });
        both_orders(
            &error,
            (),
            &format!("{little} 02000000 0010400000000000 0900000000000000 'Lost' 00 *60 07000000 01000000"),
            &format!("{big} 00000002 0000000000401000 0000000000000009 'Lost' 00 *60 00000007 00000001"),
        );
    }
}
