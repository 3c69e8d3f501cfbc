//! The documented columns are those of the files.

use perfconv::formats::dataset::{SCHEMA_VERSION, describe};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The table of a table's columns in the documentation.
fn documented(columns: &[(&'static str, String, String)]) -> String {
    let mut text = "| column | type | contents |\n|---|---|---|\n".to_owned();
    for (name, sql_type, contents) in columns {
        let contents = contents.strip_suffix('.').unwrap_or(contents);
        writeln!(text, "| `{name}` | `{sql_type}` | {contents} |").unwrap();
    }
    text
}

#[test]
fn documentation_has_the_columns_of_all_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tables.md");
    let page = fs::read_to_string(&path).expect("the page is readable");
    let mut updated = page.clone();
    for (name, columns) in describe() {
        let (begin, end) = (format!("<!-- columns: {name} -->\n\n"), "\n<!-- end -->");
        let (before, rest) = updated.split_once(&begin).unwrap_or_else(|| panic!("the page has no columns of {name}"));
        let (_, after) = rest.split_once(end).expect("the columns end");
        updated = format!("{before}{begin}{}{end}{after}", documented(&columns));
    }
    if std::env::var_os("PERFCONV_UPDATE_DOCS").is_some() {
        fs::write(&path, &updated).expect("the page is writable");
        return;
    }
    assert!(page == updated, "docs/tables.md has other columns; PERFCONV_UPDATE_DOCS=1 writes them");
    assert!(page.contains(&format!("version {SCHEMA_VERSION} ")), "the page has another version of the schema");
}
