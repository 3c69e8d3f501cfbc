//! Names of frames in formats that are written sample by sample: text is kept until the symbols of its frames are looked up, many
//! at once.

use crate::error::{Error, Result};
use crate::profile::mappings::Mappings;
use crate::profile::stacks::{FrameId, Stacks};
use crate::profile::symbolize::{SymbolSources, Symbolization};
use crate::profile::symbols::Symbols;
use crate::session::Session;
use crate::session::map::{Map, MapId};
use crate::stream::meta::Meta;
use std::io::Write;

/// Begins a frame: followed by its ID and the text before its name. Not a byte of UTF-8.
const FRAME: u8 = 0xff;
/// Ends the text before a name, and the text after it. Not a byte of UTF-8.
const END: u8 = 0xfe;

/// Size of the text at which symbols are looked up.
const TEXT: usize = 32 << 20;

/// A frame in the text.
#[derive(Clone, Copy, Debug)]
pub struct TextFrame<'a> {
    /// ID, for its symbols.
    pub id: FrameId,
    /// Text before the name.
    pub before: &'a [u8],
    /// Text after the name.
    pub after: &'a [u8],
}

/// Text with frames whose names are not yet known.
pub struct NamedFrames {
    sources: SymbolSources,
    symbolization: Option<Symbolization>,
    mappings: Mappings,
    frames: Stacks,
    text: Vec<u8>,
}

impl NamedFrames {
    /// Creates an empty text; `None` if there are no symbols to look up.
    pub fn new(sources: &SymbolSources) -> Option<Self> {
        sources.is_any().then(|| Self {
            sources: sources.clone(),
            symbolization: None,
            mappings: Mappings::new(sources.has_objects()),
            frames: Stacks::default(),
            text: Vec::new(),
        })
    }

    /// Appends the start of a frame to a line: `before` precedes its name. The text that follows in the line, up to
    /// [`end_frame`](Self::end_frame), comes after the name.
    pub fn begin_frame(&mut self, line: &mut Vec<u8>, before: &[u8], map_id: MapId, map: &Map, address: u64) {
        let id = self.frames.frame_id(self.mappings.frame(map_id, map, address));
        line.push(FRAME);
        line.extend_from_slice(&id.to_le_bytes());
        line.extend_from_slice(before);
        line.push(END);
    }

    /// Ends a frame.
    pub fn end_frame(line: &mut Vec<u8>) {
        line.push(END);
    }

    /// Appends text, and writes all of it if there is much, each frame by `render`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn add(
        &mut self,
        text: &[u8],
        (meta, session): (&Meta, &Session),
        out: &mut dyn Write,
        render: impl FnMut(&mut Vec<u8>, TextFrame<'_>, &Symbols),
    ) -> Result<()> {
        self.text.extend_from_slice(text);
        if self.text.len() < TEXT { Ok(()) } else { self.write((meta, session), out, render) }
    }

    /// Writes the text, each frame by `render`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(
        &mut self,
        (meta, session): (&Meta, &Session),
        out: &mut dyn Write,
        mut render: impl FnMut(&mut Vec<u8>, TextFrame<'_>, &Symbols),
    ) -> Result<()> {
        let Self { sources, symbolization, mappings, frames, text } = self;
        let symbolization = symbolization.get_or_insert_with(|| Symbolization::new(sources, meta).keep_objects());
        symbolization.look_up(frames.frames(), mappings.list(), session.process_files());
        let mut rendered = Vec::new();
        let mut rest = &text[..];
        while let Some((before, frame, after)) = next_frame(rest) {
            rendered.extend_from_slice(before);
            render(&mut rendered, frame, symbolization.symbols());
            rest = after;
            if rendered.len() >= 1 << 16 {
                out.write_all(&rendered).map_err(Error::Output)?;
                rendered.clear();
            }
        }
        rendered.extend_from_slice(rest);
        out.write_all(&rendered).map_err(Error::Output)?;
        text.clear();
        Ok(())
    }
}

/// The text before the first frame, the frame, and the text after it; `None` without a frame.
fn next_frame(text: &[u8]) -> Option<(&[u8], TextFrame<'_>, &[u8])> {
    let start = text.iter().position(|&byte| byte == FRAME)?;
    let (id, rest) = text[start + 1..].split_first_chunk()?;
    let mut parts = rest.splitn(3, |&byte| byte == END);
    let (before, after, rest) = (parts.next()?, parts.next()?, parts.next()?);
    Some((&text[..start], TextFrame { id: u32::from_le_bytes(*id), before, after }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_in_text() {
        let text = b"a\xff\x07\xff\0\0(\xfe)\xfeb\xff\x08\0\0\0\xfe\xfe";
        let (before, frame, rest) = next_frame(text).unwrap();
        assert_eq!((before, frame.id, frame.before, frame.after), (&b"a"[..], 0xff07, &b"("[..], &b")"[..]));
        let (before, frame, rest) = next_frame(rest).unwrap();
        assert_eq!((before, frame.id, frame.before, frame.after, rest), (&b"b"[..], 8, &b""[..], &b""[..], &b""[..]));
        assert!(next_frame(rest).is_none());
    }
}
