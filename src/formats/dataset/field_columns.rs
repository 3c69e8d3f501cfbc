//! Columns of the sample fields that are shown as text.

use super::column::{Column, Columns, Text};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use perf_data::abi::sample::field::SampleField;
use perf_data::abi::sample::view::SampleView;

/// A column for each field.
pub(super) struct FieldColumns(Vec<Text>);

impl Default for FieldColumns {
    fn default() -> Self {
        Self(SampleField::SHOWN_AS_TEXT.iter().map(|_| Text::default()).collect())
    }
}

impl Columns for FieldColumns {
    fn describe() -> Vec<(&'static str, DataType, String)> {
        let describe = |field: &SampleField| (field.name(), Text::data_type(), format!("Recorded {}.", field.name()));
        SampleField::SHOWN_AS_TEXT.iter().map(describe).collect()
    }

    fn take(&mut self) -> Vec<ArrayRef> {
        self.0.iter_mut().map(Text::take).collect()
    }
}

impl FieldColumns {
    /// Appends the texts of a sample.
    pub(super) fn push(&mut self, texts: &[Option<String>]) {
        self.0.iter_mut().zip(texts).for_each(|(column, text)| column.push(text.as_deref()));
    }
}

/// The texts of a sample's fields.
pub(super) fn texts(view: &SampleView<'_>) -> Vec<Option<String>> {
    SampleField::SHOWN_AS_TEXT.iter().map(|&field| view.text(field)).collect()
}
