//! `PERF_RECORD_EVENT_UPDATE`.

use super::RecordType;
use super::cpu_map::CpuMapData;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::fields::{EventRef, FieldVisitor, TextField, TextRole, VisitFields};
use crate::abi::open_enum::open_enum;
use crate::abi::text::PaddedStr;
use binrw::binrw;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

open_enum! {
    /// Property of an event that is updated.
    EventUpdateType: u64 {
        /// Unit of the values, a string.
        UNIT = 0,
        /// Factor for the values, a `double`.
        SCALE = 1,
        /// Name, a string. In pipes only.
        NAME = 2,
        /// CPUs that it was opened on.
        CPUS = 3,
    }
}

/// Additional property of an event. Since perf 4.5.
///
/// ```c
/// u64 type; u64 id; union { char unit[]; double scale; char name[]; struct cpu_map_data cpus; };
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventUpdate {
    /// Property.
    pub kind: EventUpdateType,
    /// First ID of the event.
    pub id: u64,
    /// Value; `None` if the property is unknown.
    #[br(try, args(kind))]
    pub value: Option<EventUpdateValue>,
}

/// Value of a property.
#[binrw]
#[br(import(kind: EventUpdateType))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
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

/// A `double` stored by its bits, so that every value is reproduced and equals itself.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale(pub u64);

/// Serialized as a string with a decimal number that restores the same bits; NaN as its bits.
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
        bits.map(Self).ok_or_else(|| D::Error::custom(format_args!("'{text}' is not a number")))
    }
}

impl Scale {
    /// The value.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// Descriptor of EVENT_UPDATE.
pub const EVENT_UPDATE: RecordDescriptor =
    RecordDescriptor::state(RecordType::EVENT_UPDATE, (4, 5), 24).with(RecordFlags::METADATA);

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
