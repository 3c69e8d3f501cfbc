//! The parts of a file that an import uses.

use crate::formats::import::json_document::{JsonText, Number};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use std::fmt;

/// A file.
#[derive(Deserialize)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub exporter: Option<JsonText<'a>>,
    #[serde(borrow)]
    pub name: Option<JsonText<'a>>,
    #[serde(borrow)]
    pub shared: Shared<'a>,
    #[serde(borrow)]
    pub profiles: Vec<ImportedTrack<'a>>,
}

/// What profiles share.
#[derive(Deserialize)]
pub(super) struct Shared<'a> {
    #[serde(borrow)]
    pub frames: DocumentFrames<'a>,
}

/// Frames that stacks refer to.
pub(super) struct DocumentFrames<'a>(pub Vec<ImportedFrame<'a>>);

/// Maximum number of frames: each takes twenty times as much memory as the shortest text of one.
pub(super) const MAX_LISTED_FRAMES: usize = 1 << 21;

impl<'de: 'a, 'a> Deserialize<'de> for DocumentFrames<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FramesVisitor;
        impl<'de> Visitor<'de> for FramesVisitor {
            type Value = DocumentFrames<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence of frames")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<DocumentFrames<'de>, A::Error> {
                let mut frames = Vec::new();
                while let Some(frame) = sequence.next_element()? {
                    if frames.len() == MAX_LISTED_FRAMES {
                        return Err(A::Error::custom(format!("more than {MAX_LISTED_FRAMES} frames")));
                    }
                    frames.push(frame);
                }
                Ok(DocumentFrames(frames))
            }
        }
        deserializer.deserialize_seq(FramesVisitor)
    }
}

/// A frame.
#[derive(Deserialize)]
pub(super) struct ImportedFrame<'a> {
    #[serde(borrow)]
    pub name: JsonText<'a>,
    /// In files of perfconv, if the name is shortened.
    #[serde(borrow, rename = "fullName")]
    pub full_name: Option<JsonText<'a>>,
    #[serde(borrow)]
    pub file: Option<JsonText<'a>>,
    pub line: Option<Number>,
    pub col: Option<Number>,
}

impl ImportedFrame<'_> {
    /// The name of the function.
    pub(super) fn full_name(&self) -> &str {
        self.full_name.as_deref().unwrap_or(&self.name)
    }
}

/// A profile, usually of a thread: with samples and weights, or with events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportedTrack<'a> {
    #[serde(rename = "type")]
    pub kind: ProfileKind,
    #[serde(borrow)]
    pub name: JsonText<'a>,
    /// The event, in files of perfconv.
    #[serde(borrow)]
    pub event: Option<JsonText<'a>>,
    pub unit: ValueUnit,
    pub start_value: Option<Number>,
    pub samples: Option<Stacks>,
    pub weights: Option<Vec<Number>>,
    pub events: Option<Vec<FrameEvent>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProfileKind {
    Sampled,
    Evented,
}

/// Unit of weights and places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ValueUnit {
    None,
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
    Bytes,
}

/// The begin or end of a frame.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct FrameEvent {
    #[serde(rename = "type")]
    pub kind: FrameEventKind,
    pub frame: u32,
    pub at: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum FrameEventKind {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

/// Stacks of frame indexes, root first, in one allocation.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    frames: Vec<u32>,
    ends: Vec<usize>,
}

impl Stacks {
    /// Number of stacks.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The stacks in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.ends.iter().scan(0, |start, &end| self.frames.get(std::mem::replace(start, end)..end))
    }
}

impl<'de> Deserialize<'de> for Stacks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StacksVisitor;
        impl<'de> Visitor<'de> for StacksVisitor {
            type Value = Stacks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence of stacks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Stacks, A::Error> {
                let mut stacks = Stacks::default();
                while sequence.next_element_seed(NextStack(&mut stacks.frames))?.is_some() {
                    stacks.ends.push(stacks.frames.len());
                }
                Ok(stacks)
            }
        }
        deserializer.deserialize_seq(StacksVisitor)
    }
}

/// Appends the frames of a stack.
struct NextStack<'a>(&'a mut Vec<u32>);

impl<'de> DeserializeSeed<'de> for NextStack<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NextStack<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stack of frame indexes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<(), A::Error> {
        while let Some(frame) = sequence.next_element()? {
            self.0.push(frame);
        }
        Ok(())
    }
}
