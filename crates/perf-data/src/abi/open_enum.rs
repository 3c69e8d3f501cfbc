//! Open enumerations. Newer versions of kernel and perf may add values.

/// Declares a newtype over an integer with named values. Unknown values are retained, displayed as numbers, and encoded
/// unchanged.
///
/// Each named value becomes an associated constant; [`Display`](std::fmt::Display) and `name()` give the name.
macro_rules! open_enum {
    ($(#[$outer:meta])* $name:ident: $int:ty { $($(#[doc = $doc:expr])* $(#[cfg($cfg:meta)])? $constant:ident = $value:expr,)* }) => {
        $(#[$outer])*
        #[binrw::binrw]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $int);

        impl $name {
            $($(#[doc = $doc])* $(#[cfg($cfg)])? pub const $constant: Self = Self($value);)*

            /// All named values.
            pub const NAMED: &'static [(Self, &'static str)] = &[$($(#[cfg($cfg)])? (Self::$constant, stringify!($constant)),)*];

            /// Name of the value, if it has one.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $($(#[cfg($cfg)])? Self::$constant => Some(stringify!($constant)),)*
                    _ => None,
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::abi::serde::readable::serialize_named(self.name(), self.0, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let numbered = |number: u64| number.try_into().ok().map(Self);
                $crate::abi::serde::readable::deserialize_named(deserializer, Self::NAMED, numbered)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "{}", self.0),
                }
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({})", stringify!($name), self)
            }
        }
    };
}
pub(crate) use open_enum;

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro declares public items")]
mod tests {
    open_enum! {
        /// Two of the signals.
        Signal: u16 {
            /// Interrupted.
            INT = 2,
            /// Terminated.
            TERM = 15,
        }
    }

    #[test]
    fn unknown_values_are_retained_and_displayed_as_numbers() {
        assert_eq!(Signal(2), Signal::INT);
        assert_eq!(Signal::TERM.to_string(), "TERM");
        assert_eq!(Signal(77).to_string(), "77");
        assert_eq!(Signal(77).name(), None);
        assert_eq!(Signal::NAMED.len(), 2);
    }
}
