//! What was measured, as it is printed, drawn, saved and read again.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::statistics;

/// Rises when readers of older files would misunderstand newer ones.
const FORMAT: u32 = 1;
/// Largest file of results that is read.
const N_BYTES_MAX: u64 = 64 << 20;

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it says what was done.
    Neither,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// As tables have it.
    pub name: &'static str,
    /// Empty for ratios.
    pub unit: &'static str,
    /// Which way it is better.
    pub better: Better,
}

/// One figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What was done.
    pub case: String,
    /// What was looked at.
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
}

/// A figure of a target, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the suite.
    pub suite: String,
    /// What was done.
    pub case: String,
    /// What was looked at.
    pub metric: String,
    /// Of the values.
    pub unit: String,
    /// Which way it is better.
    pub better: Better,
    /// Name of the target.
    pub target: String,
    /// One per run.
    pub values: Vec<f64>,
}

impl Series {
    fn is_about(&self, other: &Self) -> bool {
        (&self.suite, &self.case, &self.metric) == (&other.suite, &other.case, &other.metric)
    }
}

/// A server that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// Its column.
    pub name: String,
    /// The name that was sent.
    pub model: String,
    /// What a reader of its figures should know.
    pub notes: Vec<String>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Of the file.
    pub format: u32,
    /// When it began.
    pub time: String,
    /// Makes the prompts.
    pub seed: u64,
    /// Where the client ran.
    pub machine: Machine,
    /// The first is what the others are compared to.
    pub targets: Vec<TargetInfo>,
    /// In the order of measuring.
    pub series: Vec<Series>,
}

impl Results {
    /// Nothing yet.
    pub fn new(time: String, seed: u64) -> Self {
        Self { format: FORMAT, time, seed, machine: Machine::this(), targets: Vec::new(), series: Vec::new() }
    }

    /// Adds what one run of a suite measured.
    pub fn add(&mut self, suite: &str, target: &str, samples: Vec<Sample>) {
        for Sample { case, metric, value } in samples {
            let series = Series {
                suite: suite.to_owned(),
                case,
                metric: metric.name.to_owned(),
                unit: metric.unit.to_owned(),
                better: metric.better,
                target: target.to_owned(),
                values: vec![value],
            };
            match self.series.iter_mut().find(|known| known.is_about(&series) && known.target == target) {
                Some(known) => known.values.push(value),
                None => self.series.push(series),
            }
        }
    }

    /// Reads a saved file.
    ///
    /// # Errors
    /// What is no such file.
    pub fn read(path: &Path) -> Result<Self> {
        let size = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
        ensure!(size <= N_BYTES_MAX, "{} is too large for results of a benchmark", path.display());
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} does not hold what `bench run --json` writes", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let results: Self = serde_json::from_str(text)?;
        ensure!(results.format == FORMAT, "its format is {}, and this program reads {FORMAT}", results.format);
        Ok(results)
    }

    /// Rows of all targets, in the order of measuring.
    pub fn rows(&self) -> Vec<Row<'_>> {
        let mut rows: Vec<Row<'_>> = Vec::new();
        for series in &self.series {
            let column = self.targets.iter().position(|target| target.name == series.target);
            let Some(column) = column else { continue };
            let row = match rows.iter().position(|row| row.head.is_about(series)) {
                Some(idx) => idx,
                None => {
                    rows.push(Row { head: series, cells: vec![None; self.targets.len()] });
                    rows.len() - 1
                }
            };
            rows[row].cells[column] = Some(&series.values);
        }
        rows
    }
}

/// A figure of all targets.
#[derive(Debug)]
pub struct Row<'a> {
    /// Suite, case, metric, unit and which way is better.
    pub head: &'a Series,
    cells: Vec<Option<&'a Vec<f64>>>,
}

impl Row<'_> {
    /// Of the column's target.
    pub fn median(&self, column: usize) -> Option<f64> {
        statistics::median(self.cells.get(column)?.as_ref()?)
    }

    /// The first target's figure over that of the column's target.
    pub fn ratio(&self, column: usize) -> Option<f64> {
        statistics::ratio(self.cells.first()?.as_ref()?, self.cells.get(column)?.as_ref()?)
    }

    /// Whether the first target does better than the column's target; `None` if nothing can be said.
    pub fn is_ahead(&self, column: usize) -> Option<bool> {
        let ratio = self.ratio(column)?;
        match self.head.better {
            Better::Higher => Some(ratio > 1.0),
            Better::Lower => Some(ratio < 1.0),
            Better::Neither => None,
        }
    }
}

#[cfg(test)]
#[path = "results_tests.rs"]
pub mod tests;
