//! `PERF_RECORD_AUXTRACE_ERROR`.

use super::descriptor::{RecordDescriptor, RecordFlags};
use super::{CpuMode, RecordType};
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::open_enum::open_enum;
use crate::abi::serde::readable;
use crate::abi::text::PaddedStr;
use crate::roles;
use binrw::{BinResult, Endian, binrw};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};

open_enum! {
    /// Type of the error.
    AuxtraceErrorType: u32 {
        /// Error in an instruction trace.
        ITRACE = 1,
    }
}

/// Error while decoding the AUX area. Since perf 4.2.
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
    /// Type of the error.
    pub kind: AuxtraceErrorType,
    /// Decoder-specific error code.
    pub code: u32,
    /// CPU number, -1 for any.
    pub cpu: i32,
    /// Process ID.
    pub pid: i32,
    /// Thread ID.
    pub tid: i32,
    /// Version of the layout, which determines the following fields.
    pub fmt: u32,
    /// Address of the error.
    #[serde(serialize_with = "readable::hex")]
    pub ip: u64,
    /// Time in nanoseconds on the clock of the recording.
    #[br(if(fmt >= 1))]
    pub time: Option<u64>,
    /// Message.
    #[br(parse_with = message, args(fmt))]
    pub msg: PaddedStr,
    /// Guest.
    #[br(if(fmt >= 2))]
    pub guest: Option<AuxtraceErrorGuest>,
}

/// The guest of an error.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxtraceErrorGuest {
    /// Process ID of the virtual machine on the host; 0 for the host itself.
    pub machine_pid: u32,
    /// Virtual CPU.
    pub vcpu: u32,
}

/// Size of the message in `fmt` 2.
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
    RecordDescriptor::event(RecordType::AUXTRACE_ERROR, (4, 2), 49).with(RecordFlags::CONFIDENTIAL);

impl VisitFields for AuxtraceError {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { kind: _, code: _, cpu: _, pid, tid, fmt: _, ip, time, msg, guest } = self;
        visitor.own_process(pid.into());
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
