//! A checkpoint that has whatever a family asks for, so that config.json alone tells what a network consists of.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Compute, Kernels, PackedWeights, Weights};
use crate::mx::{self, Array, Dtype, Result};

/// What was asked for so far: zeros that are never computed.
#[derive(Default)]
pub struct Phantom {
    given: RefCell<BTreeMap<String, Array>>,
    is_tied: bool,
}

impl Phantom {
    /// Whether it has a tensor before it is asked for: only what tells a tied checkpoint from others.
    pub(super) fn has(&self, name: &str) -> bool {
        name == "lm_head.weight" && !self.is_tied
    }

    pub(super) fn give(&self, name: String, shape: &[i32], dtype: Dtype) -> Result<Array> {
        let array = mx::zeros(shape, dtype)?;
        self.given.borrow_mut().insert(name, array.clone());
        Ok(array)
    }
}

impl Weights<'_> {
    /// A checkpoint of nothing but what is asked for.
    pub fn phantom(is_tied: bool) -> Self {
        let compute = Compute { dtype: None, packed: PackedWeights::Keep, kernels: Kernels::Fused };
        let phantom = Some(Phantom { is_tied, ..Phantom::default() });
        Self { phantom, ..Self::of(BTreeMap::new(), compute, None) }
    }

    /// What was asked for.
    pub fn given(&self) -> BTreeMap<String, Array> {
        self.phantom.as_ref().map(|phantom| phantom.given.take()).unwrap_or_default()
    }

    /// What nobody took, out of it.
    pub fn into_tensors(self) -> BTreeMap<String, Array> {
        self.tensors.into_inner()
    }

    /// Some tensors by name, out of it.
    pub fn remove(&self, name: &str) -> Option<Array> {
        self.tensors.borrow_mut().remove(name)
    }
}
