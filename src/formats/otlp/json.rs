//! Writes a file in the JSON of protobuf: names in camel case, numbers of 64 bits as text, without default values.

use super::attributes::SCHEMA;
use super::data::ProfilesData;
use super::messages::Messages;
use super::proto::{InstrumentationScope, Profile, Resource};
use crate::formats::framework::json_text;
use crate::formats::framework::json_text::Each;
use perf_data::error::Result;
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::fmt::Display;
use std::io::Write;

/// Whether a field has its default value.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Serializes a number as text.
///
/// # Errors
/// Errors of the serializer.
pub(crate) fn text<S: Serializer>(number: &impl Display, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Serializes a number, if there is one, as text.
///
/// # Errors
/// Errors of the serializer.
pub(crate) fn optional_text<S: Serializer>(
    number: &Option<impl Display>,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_some(&number.as_ref().map(|number| number.to_string()))
}

/// Serializes numbers as texts.
///
/// # Errors
/// Errors of the serializer.
pub(crate) fn texts<S: Serializer>(numbers: &[impl Display], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| number.to_string()))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a, P, D> {
    resource_profiles: [ResourceProfiles<'a, P>; 1],
    dictionary: D,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceProfiles<'a, P> {
    resource: &'a Resource,
    scope_profiles: [ScopeProfiles<'a, P>; 1],
    schema_url: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeProfiles<'a, P> {
    scope: &'a InstrumentationScope,
    profiles: P,
    schema_url: &'static str,
}

#[derive(Serialize)]
struct ProfileWithSamples<'a, S> {
    #[serde(flatten)]
    head: &'a Profile,
    samples: S,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonTables<M, L, F, N, S, A, C> {
    mapping_table: M,
    location_table: L,
    function_table: F,
    link_table: N,
    string_table: S,
    attribute_table: A,
    stack_table: C,
}

/// Serializes a list of messages as an array.
struct List<T>(T);

impl<T: Messages> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(None)?;
        self.0.for_each(&mut |message| sequence.serialize_element(message))?;
        sequence.end()
    }
}

/// Writes a file.
///
/// # Errors
/// Errors of `out`.
pub(crate) fn write(data: &ProfilesData<'_>, out: &mut dyn Write) -> Result<()> {
    let profiles = Each(|| data.profiles().map(|(head, samples)| ProfileWithSamples { head, samples: List(samples) }));
    let dictionary = &data.dictionary;
    let document = Document {
        resource_profiles: [ResourceProfiles {
            resource: &data.resource,
            scope_profiles: [ScopeProfiles { scope: &data.scope, profiles, schema_url: SCHEMA }],
            schema_url: SCHEMA,
        }],
        dictionary: JsonTables {
            mapping_table: List(dictionary.mappings()),
            location_table: List(dictionary.locations()),
            function_table: List(dictionary.functions()),
            link_table: List(dictionary.links()),
            string_table: Each(|| dictionary.strings().map(String::from_utf8_lossy)),
            attribute_table: List(dictionary.attributes()),
            stack_table: List(dictionary.stacks()),
        },
    };
    json_text::write(&document, out)
}
