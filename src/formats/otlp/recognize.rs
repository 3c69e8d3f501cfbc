//! Recognizes profiles of OpenTelemetry.

use crate::formats::framework::message::Shape::{Bytes, Message, Number};
use crate::formats::framework::message::{Shape, contents, has_message_shape};

const RESOURCE: &[(u32, Shape)] = &[(1, Bytes), (2, Number), (3, Bytes)];
/// Profiles have numbers of fixed size, which shapes do not describe.
const SCOPE_PROFILES: &[(u32, Shape)] = &[(1, Bytes), (2, Bytes), (3, Bytes)];
const RESOURCE_PROFILES: &[(u32, Shape)] = &[(1, Message(RESOURCE)), (2, Message(SCOPE_PROFILES)), (3, Bytes)];
const PROFILES_DATA: &[(u32, Shape)] = &[(1, Message(RESOURCE_PROFILES)), (2, Bytes)];

/// Whether an input has the shape of profiles, with a profile in the first resource.
pub(super) fn is_otlp(start: &[u8]) -> bool {
    let field = |content, wanted| contents(content).find(|(number, _)| *number == wanted).map(|(_, content)| content);
    let profile = field(start, 1).and_then(|resource| field(resource, 2)).and_then(|scope| field(scope, 2));
    profile.is_some_and(|profile| !profile.is_empty()) && has_message_shape(start, PROFILES_DATA)
}

/// Whether an input is JSON that begins with profiles or their dictionary.
pub(super) fn is_otlp_json(start: &[u8]) -> bool {
    let has = |name: &str| memchr::memmem::find(start, name.as_bytes()).is_some();
    start.trim_ascii_start().starts_with(b"{")
        && (has("\"resourceProfiles\"") || has("\"dictionary\"") && has("\"mappingTable\""))
}
