//! `PERF_RECORD_EVENT_UPDATE`.

use super::RecordType;
use super::cpu_map::CpuMapData;
use super::descriptor::RecordDescriptor;
use crate::abi::fields::{EventRef, FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::text::PaddedStr;
use crate::open_enum;
use binrw::binrw;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

open_enum! {
    /// What an EVENT_UPDATE tells of an event.
    EventUpdateType: u64 {
        /// Text: the unit of its values.
        UNIT = 0,
        /// A double: what to multiply its values with.
        SCALE = 1,
        /// Text: its name. Only in pipes.
        NAME = 2,
        /// The CPUs that it was opened on.
        CPUS = 3,
    }
}

/// Something more about an event than its attr tells. Since perf 4.5.
///
/// ```c
/// u64 type; u64 id; union { char unit[]; double scale; char name[]; struct cpu_map_data cpus; };
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventUpdate {
    /// What is told.
    pub kind: EventUpdateType,
    /// First id of the event.
    pub id: u64,
    /// It; `None` where it is of a kind that is not known here.
    #[br(try, args(kind))]
    pub value: Option<EventUpdateValue>,
}

/// What an EVENT_UPDATE tells.
#[binrw]
#[br(import(kind: EventUpdateType))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventUpdateValue {
    /// Unit.
    #[br(pre_assert(kind == EventUpdateType::UNIT))]
    Unit(PaddedStr),
    /// Factor.
    #[br(pre_assert(kind == EventUpdateType::SCALE))]
    Scale(Scale),
    /// Name.
    #[br(pre_assert(kind == EventUpdateType::NAME))]
    Name(PaddedStr),
    /// CPUs.
    #[br(pre_assert(kind == EventUpdateType::CPUS))]
    Cpus(CpuMapData),
}

/// A `double`, by its bits, so that every one is written as it was and equals itself.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(pub u64);

/// Told as a decimal number in a string, which reads back as the same bits; what is no number, as its bits.
impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value() {
            value if value.is_nan() => serializer.collect_str(&format_args!("{:#x}", self.0)),
            value => serializer.collect_str(&format_args!("{value:?}")),
        }
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bits = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok().map(f64::to_bits),
        };
        bits.map(Self).ok_or_else(|| D::Error::custom(format_args!("{text:?} is no number")))
    }
}

impl Scale {
    /// The number.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Descriptor of EVENT_UPDATE.
pub const EVENT_UPDATE: RecordDescriptor = RecordDescriptor::state(RecordType::EVENT_UPDATE, (4, 5), 24);

impl VisitFields for EventUpdate {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { kind: _, id, value } = self;
        match value {
            Some(EventUpdateValue::Unit(unit)) => visitor.text(TextRole::Unit, TextField::new("unit", unit)),
            Some(EventUpdateValue::Name(name)) => {
                visitor.text(TextRole::Event(EventRef::Id(*id)), TextField::new("name", name));
            }
            Some(EventUpdateValue::Cpus(cpus)) => cpus.visit_fields(visitor),
            Some(EventUpdateValue::Scale(_)) => {}
            None => visitor.unknown(),
        }
        visitor.event_id(id);
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu_map::{CpuMapType, CpuSet};
    use super::*;
    use crate::abi::testing::both_orders;

    fn check(kind: EventUpdateType, value: Option<EventUpdateValue>, little: &str, big: &str) {
        let little = format!("{:02x}00000000000000 0700000000000000 {little}", kind.0);
        let big = format!("00000000000000{:02x} 0000000000000007 {big}", kind.0);
        both_orders(&EventUpdate { kind, id: 7, value }, (), &little, &big);
    }

    #[test]
    fn bytes_of_each_kind() {
        let text = |text| PaddedStr::new(text, 8);
        let unit = EventUpdateValue::Unit(text(b"msec"));
        check(EventUpdateType::UNIT, Some(unit), "'msec' 00000000", "'msec' 00000000");
        let scale = EventUpdateValue::Scale(Scale(1e-6_f64.to_bits()));
        check(EventUpdateType::SCALE, Some(scale), "8dedb5a0f7c6b03e", "3eb0c6f7a0b5ed8d");
        let name = EventUpdateValue::Name(text(b"cycles"));
        check(EventUpdateType::NAME, Some(name), "'cycles' 0000", "'cycles' 0000");
        let cpus = Some(CpuSet::Cpus { cpu: vec![3, 4] });
        let cpus = EventUpdateValue::Cpus(CpuMapData { kind: CpuMapType::CPUS, cpus });
        check(EventUpdateType::CPUS, Some(cpus), "0000 0200 0300 0400", "0000 0002 0003 0004");
        check(EventUpdateType(9), None, "", "");
        assert_eq!(Scale(0x3ff8_0000_0000_0000).value(), 1.5);
    }
}
