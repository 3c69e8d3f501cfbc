//! Parser of the definitions in `abi`: types, open enums, flag words, and the tables of records and features.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::{Attribute, Fields, File, Item, Meta, Token};

/// A definition with a JSON representation.
pub(super) enum Definition {
    /// A struct or an enum.
    Type(Box<Item>),
    /// The names of an open enum.
    Names(Vec<String>),
    /// The names of the bits of a flag word.
    Flags(Vec<String>),
}

/// A row of a table.
pub(super) struct Row {
    /// The name of the record or feature.
    pub name: String,
    /// The type of its definition.
    pub definition: String,
    /// Whether it exists in tests only.
    pub is_test: bool,
}

/// All definitions.
pub(super) struct Definitions {
    /// Types by name.
    pub types: BTreeMap<String, Definition>,
    /// The table of records.
    pub records: Vec<Row>,
    /// The table of features.
    pub features: Vec<Row>,
}

impl Definitions {
    /// Reads all definitions in a directory.
    pub(super) fn read(abi: &Path) -> Self {
        let mut types = BTreeMap::new();
        for path in sources(abi) {
            let source = fs::read_to_string(&path).unwrap();
            let file: File = syn::parse_file(&source).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            for (name, definition) in file.items.into_iter().filter_map(definition) {
                assert!(types.insert(name.clone(), definition).is_none(), "two definitions are called {name}");
            }
        }
        let sample = sample(&fs::read_to_string(abi.join("sample/table.rs")).unwrap());
        types.insert("Sample".to_owned(), Definition::Type(Box::new(sample)));
        let table = |file: &str, start: &str| rows(&fs::read_to_string(abi.join(file)).unwrap(), start);
        let records = table("record/body.rs", "\nbodies! {");
        let features = table("feature/content.rs", "\nfeatures! {");
        for (name, rows) in [("RecordType", &records), ("FeatureId", &features)] {
            let names = rows.iter().filter(|row| !row.is_test).map(|row| row.name.clone()).collect();
            types.insert(name.to_owned(), Definition::Names(names));
        }
        Self { types, records, features }
    }
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let sources = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("jitdump") => Vec::new(),
        true => sources(&path),
        false => Vec::from_iter((path.extension() == Some("rs".as_ref())).then_some(path)),
    };
    entries.flat_map(sources).collect()
}

fn definition(item: Item) -> Option<(String, Definition)> {
    match &item {
        Item::Struct(of) if is_serialized(&of.attrs) => Some((of.ident.to_string(), Definition::Type(Box::new(item)))),
        Item::Enum(of) if is_serialized(&of.attrs) => Some((of.ident.to_string(), Definition::Type(Box::new(item)))),
        Item::Macro(of) => {
            let (name, names) = names(&of.mac.tokens)?;
            match of.mac.path.segments.last()?.ident.to_string().as_str() {
                "open_enum" => Some((name, Definition::Names(names))),
                "bit_set" => Some((name, Definition::Flags(names))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether serde's derive determines the serialization.
fn is_serialized(attributes: &[Attribute]) -> bool {
    let derives = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derives
        .filter_map(|derive| derive.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated).ok())
        .any(|paths| paths.iter().any(|path| path.is_ident("Serialize")))
}

/// The name and the constants of `NAME: INT { CONSTANT = VALUE, ... }`.
fn names(tokens: &proc_macro2::TokenStream) -> Option<(String, Vec<String>)> {
    use proc_macro2::{Delimiter, TokenTree};
    let mut name = None;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) if name.is_none() && ident != "pub" => name = Some(ident.to_string()),
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<_> = group.stream().into_iter().collect();
                let constants = inner.windows(2).enumerate().filter_map(|(at, pair)| match pair {
                    [TokenTree::Ident(ident), TokenTree::Punct(equals)] if equals.as_char() == '=' => {
                        // A value has no equals sign, so what precedes a name is a comma, an attribute or nothing.
                        let is_first = at == 0;
                        let before = at.checked_sub(1).map(|before| inner[before].to_string());
                        let is_name = is_first || before.is_some_and(|before| before == "," || before.starts_with('['));
                        is_name.then(|| ident.to_string())
                    }
                    _ => None,
                });
                return Some((name?, constants.collect()));
            }
            _ => {}
        }
    }
    None
}

/// Parses the rows of a table: `NAME = NUMBER => Variant(module::Type) in module;`.
fn rows(source: &str, start: &str) -> Vec<Row> {
    let table = source.split_once(start).expect("there should be a table").1;
    let table = table.split_once("\n}").expect("the table should end").0;
    let mut rows = Vec::new();
    let mut is_test = false;
    for line in table.lines().map(str::trim) {
        if let Some((name, variant)) = line.split_once(" => ") {
            let name = name.split(' ').next().unwrap_or_default().to_owned();
            let definition = variant.split_once('(').and_then(|(_, rest)| rest.split_once(')')).expect("a variant").0;
            let definition = definition.trim_start_matches("Box<").trim_end_matches('>');
            let definition = definition.rsplit("::").next().unwrap_or_default().to_owned();
            rows.push(Row { name, definition, is_test });
        }
        is_test = line.starts_with("#[cfg(any(test,");
    }
    rows
}

/// The struct that the table of sample fields declares: `Variant = BITS => name: Type as View, ...;`.
fn sample(source: &str) -> Item {
    let (before, table) = source.split_once("\nsample_fields! {").expect("there should be a table");
    let documented = before.split_once("pub struct Sample {").expect("the macro should declare it").0;
    let documentation = documented.rsplit_once("\n\n").expect("an item precedes it").1;
    let (mut fields, mut attributes, mut is_test) = (String::new(), String::new(), false);
    for line in table.lines().map(str::trim) {
        if line.starts_with("#[cfg") {
            is_test = true;
        } else if line.starts_with(['/', '#']) {
            attributes += &format!("{line}\n");
        } else if let Some((_, field)) = line.split_once(" => ") {
            let (name, types) = field.split_once(": ").expect("a type");
            let owned = types.split_once(" as ").expect("a borrowed type").0;
            if !is_test {
                fields += &format!("{attributes} pub {name}: Option<{owned}>,\n");
            }
            (attributes, is_test) = (String::new(), false);
        }
    }
    syn::parse_str(&format!("{documentation} pub struct Sample {{ {fields} }}")).expect("a struct")
}

/// The value of an argument of a serde attribute, such as `with`.
pub(super) fn serde_argument(attributes: &[Attribute], argument: &str) -> Option<String> {
    let of_serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    let lists = of_serde.filter_map(|of| of.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok());
    lists.flatten().find_map(|meta| match meta {
        Meta::NameValue(pair) if pair.path.is_ident(argument) => match pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The first paragraph of the documentation, without its markup.
pub(super) fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let mut plain = String::new();
    let mut rest = &*paragraph;
    while let Some(at) = rest.find(['`', '[', ']']) {
        plain += &rest[..at];
        let (mark, after) = rest[at..].split_at(1);
        // The target of a link follows its text.
        rest = match (mark, after.strip_prefix('(')) {
            ("]", Some(target)) => target.split_once(')').map_or("", |(_, after)| after),
            ("[" | "]", None) if !paragraph.contains("](") && !paragraph.contains("[`") => {
                plain += mark;
                after
            }
            _ => after,
        };
    }
    plain + rest
}

/// The fields that are stored in the type, without those that binrw computes.
pub(super) fn stored_fields(fields: &Fields) -> impl Iterator<Item = &syn::Field> {
    fields.iter().filter(|field| {
        let tokens = |attribute: &Attribute| match &attribute.meta {
            Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        let is_computed = |attribute: &Attribute| {
            attribute.path().is_ident("br") && tokens(attribute).split(',').any(|part| part.trim() == "temp")
        };
        !field.attrs.iter().any(is_computed)
    })
}
