//! Unknown fields of an input, preserved for an output of a similar format.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// Unknown fields of an input, of a type that only similar formats know; or none.
#[derive(Clone, Debug, Default)]
pub struct RetainedFields(Option<Arc<dyn Fields>>);

impl RetainedFields {
    /// Wraps fields.
    pub fn new(fields: impl Any + Debug + Send + Sync) -> Self {
        Self(Some(Arc::new(fields)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The fields, if they are of that type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        let fields: &dyn Any = self.0.as_deref()?;
        fields.downcast_ref()
    }
}

/// Fields of any type.
trait Fields: Any + Debug + Send + Sync {}

impl<T: Any + Debug + Send + Sync> Fields for T {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_checks_the_type() {
        let fields = RetainedFields::new(7_u64);
        assert_eq!((fields.get::<u64>(), fields.get::<u32>(), fields.is_empty()), (Some(&7), None, false));
        assert!(RetainedFields::default().is_empty() && RetainedFields::default().get::<u64>().is_none());
    }
}
