//! Modules that a checkpoint keeps as one, taken apart by rows.

use super::Weights;
use crate::LoadResult;
use crate::mx::{self, Array, Cut, Result};

/// A module whose rows come in equal groups of sections, and the modules that sections become.
pub struct Split<'s> {
    /// The last part of the module's path.
    pub name: &'s str,
    /// How many groups.
    pub n_groups: usize,
    /// Rows of each section of a group.
    pub sections: &'s [usize],
    /// What the module becomes: a name, and the sections it takes, each of all groups.
    pub parts: &'s [(&'s str, &'s [usize])],
}

impl Weights<'_> {
    /// Takes every module of the split's name apart: weights, biases, scales.
    ///
    /// # Errors
    /// When a tensor has other rows than the split says.
    pub fn split(&self, split: &Split<'_>) -> LoadResult<()> {
        self.remake(|name, array| {
            let Some((path, leaf)) = name.rsplit_once('.') else { return Ok(None) };
            let Some(paths) = split.paths(path) else { return Ok(None) };
            let parts = paths
                .into_iter()
                .zip(split.parts)
                .map(|(path, (_, sections))| Ok((format!("{path}.{leaf}"), split.part(name, array, sections)?)));
            parts.collect::<Result<Vec<_>>>().map(Some)
        })?;
        if let Some(quantization) = &mut *self.quantization.borrow_mut() {
            quantization.split(|path| split.paths(path));
        }
        Ok(())
    }
}

impl Split<'_> {
    /// The paths that a module's becomes.
    fn paths(&self, path: &str) -> Option<Vec<String>> {
        let outer = path.strip_suffix(self.name)?;
        let is_whole_name = outer.is_empty() || outer.ends_with('.');
        is_whole_name.then(|| self.parts.iter().map(|(name, _)| format!("{outer}{name}")).collect())
    }

    /// Sections of all groups, one after the other.
    fn part(&self, name: &str, array: &Array, sections: &[usize]) -> Result<Array> {
        let n_rows = array.shape().first().map_or(0, |n| *n as usize);
        let n_group: usize = self.sections.iter().sum();
        let n_expected = self.n_groups * n_group;
        // 8-bit floats have a scale for each block of rows.
        let n_block = if n_rows > 0 && n_expected.is_multiple_of(n_rows) { n_expected / n_rows } else { 0 };
        if n_block == 0 || !self.sections.iter().all(|n| n.is_multiple_of(n_block)) {
            return Err(mx::Error { what: format!("{name} has {n_rows} rows, expected {n_expected}") });
        }
        let rest = array.shape().get(1..).unwrap_or_default();
        let grouped = mx::reshape(array, &[&[self.n_groups as i32, (n_group / n_block) as i32], rest].concat())?;
        let taken = sections.iter().map(|section| {
            let start = self.sections[..*section].iter().sum::<usize>() / n_block;
            let n = self.sections[*section] / n_block;
            let part = mx::slice(&grouped, &[Cut { axis: 1, start: start as i32, stop: (start + n) as i32 }])?;
            mx::reshape(&part, &[&[(self.n_groups * n) as i32], rest].concat())
        });
        let taken = taken.collect::<Result<Vec<_>>>()?;
        mx::concatenate(&taken.iter().collect::<Vec<_>>(), 0)
    }
}
