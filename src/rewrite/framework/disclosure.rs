//! What an output may contain that does not come from its records.

use perf_data::stream::ledger::Ledger;

/// Whether an output, its side files and the texts in it may contain data of the input that no pass has seen: names of files,
/// function names of imported profiles, unknown fields, texts of warnings. Whatever writes such data asks here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// The input is not anonymized.
    #[default]
    Everything,
    /// The records are anonymized, so nothing else may be disclosed.
    Anonymized,
}

impl Disclosure {
    /// Whether the output is anonymized.
    pub fn is_anonymized(self) -> bool {
        self == Self::Anonymized
    }

    /// Data that bypasses the passes, unless the output is anonymized.
    pub fn bypassing<T>(self, data: Option<T>) -> Option<T> {
        data.filter(|_| !self.is_anonymized())
    }

    /// The warnings that the output may contain. Texts of warnings name the input and things in it, so that of an anonymized
    /// output only say what kinds of problems there were, and how many.
    pub fn warnings(self, ledger: &Ledger) -> Vec<String> {
        if !self.is_anonymized() {
            return ledger.warnings();
        }
        let mut warnings: Vec<_> = ledger
            .messages()
            .iter()
            .map(|damage| format!("the recording at offset {:#x}: {}", damage.offset, damage.kind.description()))
            .collect();
        if ledger.further_messages() > 0 {
            warnings.push(format!("{} more corrupt places", ledger.further_messages()));
        }
        match ledger.notes().len() + ledger.missing_notes().len() {
            0 => {}
            1 => warnings.push("1 warning of the conversion is omitted, since it may contain names".to_owned()),
            count => {
                warnings.push(format!("{count} warnings of the conversion are omitted, since they may contain names"))
            }
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::container::walk::{Damage, DamageKind};

    #[test]
    fn warnings_of_anonymized_outputs_have_no_names() {
        let mut ledger = Ledger::default();
        ledger.damage(Damage::new(DamageKind::Truncated, "/home/alice/perf.data", 0x40, "alice's record is truncated"));
        ledger.note("/home/alice/perf.data: has no event alice".to_owned());
        ledger.missing("alice's files".to_owned());
        assert_eq!(Disclosure::Everything.warnings(&ledger), ledger.warnings());
        assert_eq!(Disclosure::Everything.bypassing(Some(1)), Some(1));
        let warnings = Disclosure::Anonymized.warnings(&ledger);
        assert_eq!(
            warnings,
            [
                "the recording at offset 0x40: truncated",
                "2 warnings of the conversion are omitted, since they may contain names"
            ]
        );
        assert_eq!(Disclosure::Anonymized.bypassing(Some(1)), None);
    }
}
