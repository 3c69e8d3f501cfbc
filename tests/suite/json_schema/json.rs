//! JSON values that print in insertion order.

/// The maximum width of lines.
const WIDTH: usize = 120;

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Json {
    /// A number, a string or a keyword.
    Raw(String),
    /// A list.
    List(Vec<Json>),
    /// An object.
    Map(Vec<(String, Json)>),
}

/// A string.
pub(super) fn text(text: &str) -> Json {
    Json::Raw(format!("{text:?}"))
}

/// A list.
pub(super) fn list(items: impl IntoIterator<Item = Json>) -> Json {
    Json::List(items.into_iter().collect())
}

/// An object.
pub(super) fn map<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    Json::Map(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

impl Json {
    fn inline(&self) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match self {
            Self::Raw(text) => text.clone(),
            Self::List(items) => format!("[{}]", joined(items.iter().map(Self::inline).collect())),
            Self::Map(members) => {
                let members = members.iter().map(|(name, value)| format!("{name:?}: {}", value.inline()));
                format!("{{{}}}", joined(members.collect()))
            }
        }
    }

    /// Formats the value in lines; those after the first are indented by at least `indent`.
    pub(super) fn lines(&self, indent: usize, used: usize) -> String {
        let inline = self.inline();
        let is_plain = |items: &[Self]| items.iter().all(|item| matches!(item, Self::Raw(_)));
        let (inner, end) = (" ".repeat(indent + 2), " ".repeat(indent));
        // Leave space for a comma.
        let fits = |len: usize| used + len < WIDTH;
        match self {
            Self::Map(_) if fits(inline.len() + 2) => format!("{{ {} }}", &inline[1..inline.len() - 1]),
            Self::List(_) if fits(inline.len()) => inline,
            Self::Raw(_) => inline,
            // Fill lines with items.
            Self::List(items) if is_plain(items) => {
                let mut out = "[".to_owned();
                let mut line = String::new();
                for (at, item) in items.iter().enumerate() {
                    let comma = if at + 1 < items.len() { "," } else { "" };
                    let word = item.inline() + comma;
                    // The line break is part of the line.
                    if line.is_empty() || line.len() + word.len() > WIDTH {
                        out += &std::mem::take(&mut line);
                        line = format!("\n{inner}{word}");
                    } else {
                        line += &format!(" {word}");
                    }
                }
                format!("{out}{line}\n{end}]")
            }
            Self::List(items) => {
                let items = items.iter().map(|item| format!("{inner}{}", item.lines(indent + 2, indent + 2)));
                format!("[\n{}\n{end}]", items.collect::<Vec<_>>().join(",\n"))
            }
            Self::Map(members) => {
                let members = members.iter().map(|(name, value)| {
                    let start = format!("{inner}{name:?}: ");
                    let value = value.lines(indent + 2, start.len());
                    start + &value
                });
                format!("{{\n{}\n{end}}}", members.collect::<Vec<_>>().join(",\n"))
            }
        }
    }
}
