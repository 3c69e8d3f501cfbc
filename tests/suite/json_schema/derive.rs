//! Derives the schema of a definition.

use super::definitions::{Definition, Definitions, Row, documentation, serde_argument, stored_fields};
use super::json::{Json, list, map, text};
use std::collections::BTreeMap;
use syn::{Attribute, Fields, GenericArgument, Item, PathArguments, Type};

/// Types with a custom serialization, and the schemas that describe it.
const CUSTOM: &[(&str, &str)] = &[
    ("PaddedStr", "text"),
    ("PerfStr", "text"),
    ("FixedStr", "text"),
    ("NullString", "text"),
    ("Attr", "Attr"),
    ("BranchFlags", "BranchFlags"),
    ("DataSrc", "DataSrc"),
    ("Scale", "Scale"),
    ("StoredSize", "u32"),
    ("Weight", "Weight"),
    ("BuildIdContent", "BuildIdContent"),
];

/// Derives schemas.
pub(super) struct Derive<'a> {
    /// The definitions.
    pub definitions: &'a Definitions,
    /// Schemas by the names of the types.
    pub schemas: BTreeMap<String, Json>,
}

impl<'a> Derive<'a> {
    /// Derives the schemas of all records and features, with `with_tests` also of those that exist in tests only.
    pub(super) fn new(definitions: &'a Definitions, with_tests: bool) -> Self {
        let mut derive = Self { definitions, schemas: BTreeMap::new() };
        let rows = definitions.records.iter().chain(&definitions.features);
        for row in rows.filter(|row| with_tests || !row.is_test) {
            derive.reference(&row.definition);
        }
        for name in ["RecordType", "FeatureId"] {
            derive.reference(name);
        }
        derive
    }

    /// The cases of an object: if the member `key` is the name of a row, the member `place` has its schema. The feature
    /// AUXTRACE of a file has record indices instead of offsets.
    pub(super) fn cases(&self, rows: &[&Row], key: &str, place: &str, in_record: bool) -> Vec<Json> {
        let case = |row: &&Row| {
            let name = map([(key, map([("const", text(&row.name))]))]);
            let is_indexed = (key, &*row.name) == ("feature", "AUXTRACE") && !in_record;
            let schema = if is_indexed { reference("auxtrace_index") } else { self.schema_of(&row.definition) };
            let schema = map([(place, schema)]);
            map([
                ("if", map([("properties", name), ("required", list([text(key)]))])),
                ("then", map([("properties", schema)])),
            ])
        };
        rows.iter().map(case).collect()
    }

    fn schema_of(&self, name: &str) -> Json {
        let own = CUSTOM.iter().find(|(own, _)| *own == name);
        reference(own.map_or(name, |(_, schema)| schema))
    }

    /// Returns a reference to the schema of a type, deriving it first if needed.
    fn reference(&mut self, name: &str) -> Json {
        if !CUSTOM.iter().any(|(own, _)| *own == name) && !self.schemas.contains_key(name) {
            let definition = self.definitions.types.get(name).unwrap_or_else(|| panic!("{name} has no definition"));
            // A placeholder, as the type may contain itself.
            self.schemas.insert(name.to_owned(), list([]));
            let schema = match definition {
                Definition::Names(names) => one_of([named(names), reference("number")]),
                Definition::Flags(names) => {
                    map([("type", text("array")), ("items", one_of([named(names), reference("hex")]))])
                }
                Definition::Type(item) => self.item(item),
            };
            self.schemas.insert(name.to_owned(), schema);
        }
        self.schema_of(name)
    }

    fn item(&mut self, item: &Item) -> Json {
        match item {
            Item::Struct(of) => described(&of.attrs, self.fields(&of.fields)),
            Item::Enum(of) => {
                let is_snake_case = serde_argument(&of.attrs, "rename_all").as_deref() == Some("snake_case");
                assert!(is_snake_case, "the variants of {} should be in snake case", of.ident);
                let variants = of.variants.iter().map(|variant| {
                    let name = snake_case(&variant.ident.to_string());
                    object([(name, described(&variant.attrs, self.fields(&variant.fields)), true)])
                });
                described(&of.attrs, one_of(variants.collect::<Vec<_>>()))
            }
            _ => unreachable!("definitions are structs and enums"),
        }
    }

    fn fields(&mut self, fields: &Fields) -> Json {
        let members: Vec<_> = stored_fields(fields).collect();
        match fields {
            Fields::Unit => map([("type", text("object")), ("maxProperties", Json::Raw("0".into()))]),
            Fields::Unnamed(_) => {
                let [member] = &members[..] else { panic!("expected a tuple of one member") };
                self.value(&member.ty, &member.attrs)
            }
            Fields::Named(_) => {
                let members = members.into_iter().map(|member| {
                    let name = member.ident.as_ref().expect("a name").to_string();
                    let is_optional = arguments(&member.ty, "Option").is_some()
                        || serde_argument(&member.attrs, "skip_serializing_if").is_some();
                    (name, described(&member.attrs, self.value(&member.ty, &member.attrs)), !is_optional)
                });
                object(members.collect::<Vec<_>>())
            }
        }
    }

    fn value(&mut self, of: &Type, attributes: &[Attribute]) -> Json {
        let how = serde_argument(attributes, "with").or_else(|| serde_argument(attributes, "serialize_with"));
        match how.as_deref() {
            Some("crate::abi::serde::byte_string") => reference("base64"),
            Some("readable::text" | "readable::null_string") => reference("text"),
            Some("readable::hex_bytes") => {
                let Type::Array(array) = of else { panic!("expected an array of bytes") };
                let digits = format!("^[0-9a-f]{{{}}}$", 2 * length(array));
                map([("type", text("string")), ("pattern", text(&digits))])
            }
            Some("readable::hex") => match arguments(of, "Vec") {
                Some(_) => array(reference("hex"), None),
                None => reference("hex"),
            },
            Some("readable::task") => reference("task"),
            Some("readable::cpu") => reference("cpu"),
            Some(other) => panic!("no schema for {other}"),
            None => self.of_type(of),
        }
    }

    fn of_type(&mut self, of: &Type) -> Json {
        for wrapper in ["Option", "Box"] {
            if let Some(inner) = arguments(of, wrapper) {
                return self.of_type(inner);
            }
        }
        if let Some(inner) = arguments(of, "Vec") {
            return array(self.of_type(inner), None);
        }
        match of {
            Type::Array(of) => array(self.of_type(&of.elem), Some(length(of))),
            Type::Path(path) => {
                let name = path.path.segments.last().expect("a name").ident.to_string();
                match &*name {
                    "u8" | "u16" | "u32" | "u64" | "i32" | "i64" => reference(&name),
                    "usize" => map([("type", text("integer")), ("minimum", Json::Raw("0".into()))]),
                    _ => self.reference(&name),
                }
            }
            _ => panic!("expected a path or an array"),
        }
    }
}

/// Adds the first sentence of a definition's documentation to its schema, unless it has a description.
fn described(attributes: &[Attribute], schema: Json) -> Json {
    let documentation = documentation(attributes);
    let sentence = documentation.split_inclusive(". ").next().unwrap_or_default().trim_end();
    match schema {
        Json::Map(mut members) if !sentence.is_empty() && members.iter().all(|(name, _)| name != "description") => {
            members.insert(0, ("description".to_owned(), text(sentence)));
            Json::Map(members)
        }
        schema => schema,
    }
}

fn length(array: &syn::TypeArray) -> usize {
    match &array.len {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(len), .. }) => len.base10_parse().unwrap(),
        _ => panic!("expected a number as the length of an array"),
    }
}

/// The type argument of a generic type of that name.
fn arguments<'t>(of: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = of else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn reference(name: &str) -> Json {
    map([("$ref", text(&format!("#/$defs/{name}")))])
}

/// The schema of an enumeration of names.
pub(super) fn named(names: &[String]) -> Json {
    map([("enum", list(names.iter().map(|name| text(name)).collect::<Vec<_>>()))])
}

fn one_of(schemas: impl IntoIterator<Item = Json>) -> Json {
    map([("oneOf", list(schemas))])
}

fn array(items: Json, len: Option<usize>) -> Json {
    let len = len.map(|len| Json::Raw(len.to_string()));
    let bounds = len.into_iter().flat_map(|len| [("minItems", len.clone()), ("maxItems", len)]);
    map([("type", text("array")), ("items", items)].into_iter().chain(bounds))
}

/// The schema of an object with these members: name, schema, whether it is required.
fn object(members: impl IntoIterator<Item = (String, Json, bool)>) -> Json {
    let members: Vec<_> = members.into_iter().collect();
    let required: Vec<_> =
        members.iter().filter(|(.., is_required)| *is_required).map(|(name, ..)| text(name)).collect();
    let mut parts = vec![("type", text("object"))];
    if !required.is_empty() {
        parts.push(("required", list(required)));
    }
    let properties = members.into_iter().map(|(name, schema, _)| (name, schema)).collect();
    parts.extend([("properties", Json::Map(properties)), ("additionalProperties", Json::Raw("false".into()))]);
    map(parts)
}
