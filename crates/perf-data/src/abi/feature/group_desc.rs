//! Feature GROUP_DESC.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use super::string::PerfStr;
use crate::abi::counted;
use crate::abi::fields::{EventRef, FieldVisitor, TextField, TextRole, VisitFields};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Groups of events. Since perf 3.9.
///
/// ```c
/// u32 nr; struct { string name; u32 leader_idx, nr_members; } groups[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupDesc {
    #[br(temp)]
    #[bw(calc = groups.len() as u32)]
    nr: u32,
    /// The groups.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub groups: Vec<Group>,
}

/// A group of events.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Name, or `{anon_group}`.
    pub name: PerfStr,
    /// Index of the leader among the events.
    pub leader_idx: u32,
    /// Number of members: the leader and the events that follow it.
    pub nr_members: u32,
}

/// Descriptor of GROUP_DESC.
pub const GROUP_DESC: FeatureDescriptor =
    FeatureDescriptor::recording(FeatureId::GROUP_DESC, (3, 9)).with(FeatureFlags::DERIVED);

roles! { GroupDesc { groups: fields } }

impl VisitFields for Group {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { name, leader_idx: _, nr_members: _ } = self;
        visitor.text(TextRole::Event(EventRef::Unknown), TextField::new("name", name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let name = PerfStr { bytes: b"g\0".to_vec() };
        both_orders(
            &GroupDesc { groups: vec![Group { name, leader_idx: 1, nr_members: 3 }] },
            (),
            "01000000 02000000 'g' 00 01000000 03000000",
            "00000001 00000002 'g' 00 00000001 00000003",
        );
    }
}
