//! A stream of JSON cut into its objects: one a line, all in one list, or formatted in any other way.

use super::de::Wrong;
use std::io::{self, Read};

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// Cuts a stream into objects.
pub struct Objects<'r> {
    stream: &'r mut dyn Read,
    buffer: Vec<u8>,
    /// Where in the buffer the next object begins, or what stands before it.
    at: usize,
    /// The line of that place, from 1.
    line: u64,
    has_ended: bool,
    state: State,
}

/// Where between objects the stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has been read.
    Start,
    /// Among objects without a list around them.
    Lines,
    /// In a list, before an object.
    ListBefore,
    /// In a list, behind an object.
    ListBehind,
    /// Behind the list.
    End,
}

/// Why there is no next object.
pub enum Failure {
    /// The stream cannot be read.
    Io(io::Error),
    /// The stream is no JSON.
    Wrong(u64, Wrong),
}

impl<'r> Objects<'r> {
    /// Takes a stream.
    pub fn new(stream: &'r mut dyn Read) -> Self {
        Self { stream, buffer: Vec::new(), at: 0, line: 1, has_ended: false, state: State::Start }
    }

    /// The line that the last object ends in, or where the next one is looked for.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next object and the line that it begins in.
    ///
    /// # Errors
    /// Where the stream cannot be read or does not hold objects.
    pub fn next(&mut self) -> Result<Option<(u64, &[u8])>, Failure> {
        loop {
            let Some(byte) = self.byte()? else { return self.end().map(|()| None) };
            match (byte, self.state) {
                (b'\n', _) => self.line += 1,
                (b' ' | b'\t' | b'\r', _) => {}
                (b'[', State::Start) => self.state = State::ListBefore,
                (b',', State::ListBehind) => self.state = State::ListBefore,
                (b']', State::ListBehind) => self.state = State::End,
                (b'{', State::Start | State::Lines | State::ListBefore) => break,
                _ => {
                    let what = format!("expected an object, found `{}`", byte.escape_ascii());
                    return Err(Failure::Wrong(self.line, Wrong::new(what)));
                }
            }
            self.at += 1;
        }
        self.state = if self.state == State::ListBefore { State::ListBehind } else { State::Lines };
        let line = self.line;
        let len = self.object()?;
        let object = &self.buffer[self.at..self.at + len];
        self.line += object.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.at += len;
        Ok(Some((line, object)))
    }

    fn end(&self) -> Result<(), Failure> {
        match self.state {
            State::Lines | State::End => Ok(()),
            _ => Err(Failure::Wrong(self.line, Wrong::new("the document is cut short"))),
        }
    }

    /// The byte at the place; `None` at the end.
    fn byte(&mut self) -> Result<Option<u8>, Failure> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        Ok(self.buffer.get(self.at).copied())
    }

    /// Reads more behind what is there from the place on.
    fn fill(&mut self) -> Result<bool, Failure> {
        if self.has_ended {
            return Ok(false);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        // Large objects are read in steps that grow with them, as each step moves what is there.
        let more = CHUNK.max(self.buffer.len()) as u64;
        let read = (&mut self.stream).take(more).read_to_end(&mut self.buffer).map_err(Failure::Io)?;
        self.has_ended = read == 0;
        Ok(read > 0)
    }

    /// How long the object is that begins at the place.
    fn object(&mut self) -> Result<usize, Failure> {
        let (mut len, mut depth, mut in_string) = (0, 0_u32, false);
        loop {
            let Some(&byte) = self.buffer.get(self.at + len) else {
                if self.fill()? {
                    continue;
                }
                return Err(Failure::Wrong(self.line, Wrong::new("the object is cut short")));
            };
            len += 1;
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => len += 1,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(len);
                    }
                }
                _ => {}
            }
        }
    }
}
