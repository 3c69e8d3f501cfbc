//! Flag words. Newer kernels may use more bits.

/// Declares a set of named bits over an integer (see the `bitflags` crate), encoded in the byte order of the recording. Unknown
/// bits are retained.
macro_rules! bit_set {
    ($(#[$($outer:tt)*])* $name:ident: $int:ty { $($(#[$($inner:tt)*])* $flag:ident = $value:expr,)* }) => {
        bitflags::bitflags! {
            $(#[$($outer)*])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
            pub struct $name: $int {
                $($(#[$($inner)*])* const $flag = $value;)*
                const _ = !0;
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::abi::serde::readable::serialize_flags(self, serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::abi::serde::readable::deserialize_flags(deserializer)
            }
        }

        impl binrw::BinRead for $name {
            type Args<'a> = ();

            fn read_options<R: std::io::Read + std::io::Seek>(
                reader: &mut R,
                endian: binrw::Endian,
                (): (),
            ) -> binrw::BinResult<Self> {
                <$int>::read_options(reader, endian, ()).map(Self::from_bits_retain)
            }
        }

        impl binrw::BinWrite for $name {
            type Args<'a> = ();

            fn write_options<W: std::io::Write + std::io::Seek>(
                &self,
                writer: &mut W,
                endian: binrw::Endian,
                (): (),
            ) -> binrw::BinResult<()> {
                self.bits().write_options(writer, endian, ())
            }
        }
    };
}
pub(crate) use bit_set;
