//! The secret key, and the replacements derived from it.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::fs::File;
use std::io::Read;

/// Alphabet of replacements: no vowels and no lower case, so that none is a word or part of one.
const LETTERS: &[u8; 16] = b"BCDFGHJKLMNPQRTV";

/// Length of a replacement name; a comm has at most 15 bytes.
pub const NAME: usize = 12;

/// A secret key. Anyone who has it can check whether a replacement is that of a guessed name. Equal keys give equal replacements.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// Minimum length in bytes; a shorter key could be guessed.
    pub const MIN: usize = 16;
    /// Maximum length in bytes; a longer file was probably given by mistake.
    pub const MAX: usize = 1 << 16;

    /// Creates a key from all of the bytes.
    ///
    /// # Errors
    /// Fails if there are [too few](Self::MIN) or [too many](Self::MAX).
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        match bytes.len() {
            len if len < Self::MIN => Err(format!(
                "a key of {len} bytes is too short; use at least {}, better 32 random ones (head -c 32 /dev/urandom)",
                Self::MIN
            )),
            len if len > Self::MAX => Err(format!("the key is longer than {} bytes", Self::MAX)),
            _ => Hmac::new_from_slice(bytes).map(Self).map_err(|error| error.to_string()),
        }
    }

    /// Reads a key from a file; all bytes count, including a trailing newline.
    ///
    /// # Errors
    /// Fails if the file cannot be read or is not a key.
    pub fn read(path: &str) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(Self::MAX as u64 + 1).read_to_end(&mut bytes));
        read.map_err(|error| format!("{path}: cannot read the key: {error}"))?;
        Self::new(&bytes).map_err(|error| format!("{path}: {error}"))
    }

    /// Generates a random key, which is not stored.
    ///
    /// # Errors
    /// Fails if the system has no random bytes.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| format!("cannot generate a random key: {error}"))?;
        Self::new(&bytes)
    }

    /// The digest of a value of a kind.
    pub fn digest(&self, kind: &str, parts: &[&[u8]]) -> [u8; 32] {
        let mut hmac = self.0.clone();
        hmac.update(kind.as_bytes());
        for part in parts {
            hmac.update(&(part.len() as u64).to_le_bytes());
            hmac.update(part);
        }
        hmac.finalize().into_bytes().into()
    }

    /// The replacement of numbers of a kind.
    pub fn number(&self, kind: &str, numbers: &[u64]) -> u64 {
        let mut bytes = [0; 32];
        for (to, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        let [a, b, c, d, e, f, g, h, ..] = self.digest(kind, &[&bytes[..8 * numbers.len().min(4)]]);
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The replacement of a name of any kind: equal names have equal replacements.
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

/// Does not show the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_give_equal_replacements() {
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
    fn rejects_keys_that_are_too_short_or_too_long() {
        assert!(Key::new(&[7; 15]).unwrap_err().contains("15 bytes is too short"));
        assert!(Key::new(&[7; 16]).is_ok() && Key::new(&[7; Key::MAX]).is_ok());
        assert!(Key::new(&[7; Key::MAX + 1]).is_err());
        assert!(Key::read("/dev/zero").unwrap_err().contains("longer than"));
        assert!(Key::read("/nonexistent").unwrap_err().contains("cannot read the key"));
    }
}
