//! Formats, options and commands that this build omits, each with the cargo feature that has it: people look for what the
//! documentation shows.

/// What a cargo feature adds.
struct Omitted {
    feature: &'static str,
    is_built: bool,
    names: &'static [&'static str],
    extensions: &'static [&'static str],
}

const OPTIONAL: [Omitted; 5] = [
    Omitted {
        feature: "parquet",
        is_built: cfg!(feature = "parquet"),
        names: &["parquet", "parquet-file", "arrow", "--append", "--records"],
        extensions: &["parquet", "arrow"],
    },
    Omitted {
        feature: "protobuf",
        is_built: cfg!(feature = "protobuf"),
        names: &["pprof", "quipper", "perfetto", "otlp", "otlp-json"],
        extensions: &["pb", "pb.gz", "pprof", "prof", "pb_data", "quipper", "pftrace", "otlp", "otlp.json"],
    },
    Omitted {
        feature: "quipper-text",
        is_built: cfg!(feature = "quipper-text"),
        names: &["quipper-text"],
        extensions: &["pb_text"],
    },
    Omitted { feature: "push", is_built: cfg!(feature = "push"), names: &["push"], extensions: &[] },
    Omitted {
        feature: "debuginfod",
        is_built: cfg!(feature = "debuginfod"),
        names: &["--debuginfod"],
        extensions: &[],
    },
];

/// The message that this build lacks a format, a command or an option of this name; `None` if no build has it, or this one does.
pub fn omitted(name: &str) -> Option<String> {
    message(name, |optional| optional.names.contains(&name))
}

/// The same of the format of a file name.
pub fn omitted_file_format(file: &str) -> Option<String> {
    let file = file.to_ascii_lowercase();
    let has = |extension: &&str| file.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'));
    message(&file, |optional| optional.extensions.iter().any(has))
}

fn message(name: &str, is_wanted: impl Fn(&Omitted) -> bool) -> Option<String> {
    let Omitted { feature, .. } = OPTIONAL.iter().find(|optional| !optional.is_built && is_wanted(optional))?;
    Some(format!(
        "{name} needs the cargo feature {feature}, which this build lacks; the programs of releases have it, and so does \
         'cargo install --path . --features {feature}'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;
    use crate::formats::framework::table::{by_file_name, by_name};

    #[test]
    fn names_are_those_of_the_formats_that_features_add() {
        let has = |optional: &&Omitted| optional.is_built && !["push", "debuginfod"].contains(&optional.feature);
        for Omitted { names, extensions, .. } in OPTIONAL.iter().filter(has) {
            let mut formats = names.iter().filter(|name| !name.starts_with("--"));
            assert!(formats.all(|name| by_name(FORMATS, name).is_some()), "{names:?}");
            let is_known = |extension: &&str| by_file_name(FORMATS, &format!("x.{extension}")).is_some();
            assert!(extensions.iter().all(is_known), "{extensions:?}");
        }
    }

    #[test]
    fn what_this_build_has_is_not_omitted() {
        let lacks_parquet = !cfg!(feature = "parquet");
        assert_eq!(omitted("parquet").is_some(), lacks_parquet);
        assert_eq!(omitted_file_format("a/out.parquet").is_some(), lacks_parquet);
        assert!(
            omitted("csv").is_none()
                && omitted_file_format("x.csv").is_none()
                && omitted_file_format("arrow").is_none()
        );
    }
}
