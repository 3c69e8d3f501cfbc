//! The key by which all is replaced, and what is derived from it.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use std::fs::File;
use std::io::Read;

/// What names are written with: no vowels and no small letters, so that none looks like a word, or is part of one.
const LETTERS: &[u8; 16] = b"BCDFGHJKLMNPQRTV";

/// How many letters stand for a name: a comm has room for 15.
pub const NAME: usize = 12;

/// A secret: who has it can tell whether a name is the replacement of one that he guesses. Equal keys replace equally.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// The fewest bytes of a key: less could be guessed.
    pub const MIN: usize = 16;
    /// The most bytes of a key; more are a file that was not meant.
    pub const MAX: usize = 1 << 16;

    /// The key of these bytes, all of them.
    ///
    /// # Errors
    /// Where they are [too few](Self::MIN), or [too many](Self::MAX).
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        match bytes.len() {
            len if len < Self::MIN => Err(format!(
                "a key of {len} bytes is too short: it takes {} at least, better 32 random ones (head -c 32 /dev/urandom)",
                Self::MIN
            )),
            len if len > Self::MAX => Err(format!("more than {} bytes are no key", Self::MAX)),
            _ => Hmac::new_from_slice(bytes).map(Self).map_err(|error| error.to_string()),
        }
    }

    /// The key that a file holds: its bytes as they are, an end of line too.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no key.
    pub fn read(path: &str) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(Self::MAX as u64 + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{path}: cannot be read: {error}"))?;
        Self::new(&bytes).map_err(|error| format!("{path}: {error}"))
    }

    /// A key that nobody knows, and nobody will.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random key can be had: {error}"))?;
        Self::new(&bytes)
    }

    /// What takes the place of bytes of a kind.
    pub fn digest(&self, kind: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut hmac = self.0.clone();
        hmac.update(kind.as_bytes());
        for part in parts {
            hmac.update(&(part.len() as u64).to_le_bytes());
            hmac.update(part);
        }
        hmac.finalize().into_bytes().into()
    }

    /// What takes the place of numbers of a kind.
    pub fn number(&self, kind: &str, numbers: &[u64]) -> u64 {
        let mut bytes = [0; 32];
        for (to, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        let [a, b, c, d, e, f, g, h, ..] = self.digest(kind, &[&bytes[..8 * numbers.len().min(4)]]);
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// What takes the place of a name, whatever it is the name of: equal names stay equal.
    pub fn name(&self, name: &[u8]) -> [u8; NAME] {
        let digest = self.digest("name", &[name]);
        std::array::from_fn(|at| LETTERS[usize::from(digest[at / 2] >> (4 * (at % 2)) & 15)])
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.digest("key", &[]) == other.digest("key", &[])
    }
}

/// Without the key itself.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_replace_equally_and_others_otherwise() {
        let [one, same, other] = [1, 1, 2].map(|byte| Key::new(&[byte; 16]).unwrap());
        assert_eq!(one.name(b"libc.so.6"), same.name(b"libc.so.6"));
        assert_ne!(one.name(b"libc.so.6"), other.name(b"libc.so.6"));
        assert_ne!(one.name(b"libc.so.6"), one.name(b"libm.so.6"));
        assert!(one.name(b"x").iter().all(|letter| LETTERS.contains(letter)));
        assert_ne!(one.number("a", &[1]), one.number("b", &[1]));
        assert_ne!(one.number("a", &[1]), one.number("a", &[1, 0]));
        assert_eq!((one == same, one == other), (true, false));
        assert_ne!(Key::random().unwrap(), Key::random().unwrap());
    }

    #[test]
    fn a_key_must_be_long_enough_and_not_too_long() {
        assert!(Key::new(&[7; 15]).unwrap_err().contains("15 bytes is too short"));
        assert!(Key::new(&[7; 16]).is_ok() && Key::new(&[7; Key::MAX]).is_ok());
        assert!(Key::new(&[7; Key::MAX + 1]).is_err());
        assert!(Key::read("/dev/zero").unwrap_err().contains("no key"));
        assert!(Key::read("/nonexistent").unwrap_err().contains("cannot be read"));
    }
}
