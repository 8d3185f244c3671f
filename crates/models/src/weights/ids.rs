//! Tables of whole numbers.

use super::{At, check_shape, wrong_dtype};
use crate::LoadResult;
use crate::mx::{self, Array, Dtype};

impl At<'_, '_> {
    /// A tensor of whole numbers, each brought below `n` if it is not: what they index is read without checks.
    pub fn ids(&self, name: &str, shape: &[i32], n: i32) -> LoadResult<Array> {
        if let Some(phantom) = &self.weights.phantom {
            return Ok(phantom.give(self.at(name).path, shape, Dtype::Uint32)?);
        }
        let (name, array) = self.take(name)?;
        check_shape(&name, &array, shape)?;
        if array.dtype().is_float() || array.dtype() == Dtype::Bool {
            return Err(wrong_dtype(&name, &array, "whole numbers"));
        }
        let last = Array::from_slice(&[n.max(1) as u32 - 1], &[1]);
        self.keep(mx::minimum(&mx::cast(&array, Dtype::Uint32)?, &last)?)
    }
}
