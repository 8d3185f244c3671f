//! What one process measured, and how two of them compare.

use std::fmt::Write;
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use crate::shell;

/// One row of the table: title, unit, field of both programs' JSON, what a figure is divided by, which way is better.
type Metric = (&'static str, &'static str, &'static str, f64, Better);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Better {
    Higher,
    Lower,
}

const METRICS: [Metric; 5] = [
    ("decode", "tok/s", "decode_tps", 1.0, Better::Higher),
    ("prefill", "tok/s", "prefill_tps", 1.0, Better::Higher),
    ("ITL p95", "ms", "itl_p95_ms", 1.0, Better::Lower),
    ("load", "s", "load_s", 1.0, Better::Lower),
    ("peak memory", "MiB", "peak_rss_bytes", 1048576.0, Better::Lower),
];

/// In the order of `METRICS`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures([f64; METRICS.len()]);

impl Figures {
    /// Runs a program that prints its figures as JSON.
    pub fn of(command: &mut Command) -> anyhow::Result<Figures> {
        let text = shell::capture(command)?;
        Self::read(&text).with_context(|| format!("reading what `{}` printed", command.get_program().display()))
    }

    fn read(text: &str) -> anyhow::Result<Figures> {
        let value: Value = serde_json::from_str(text)?;
        let mut figures = [0.0; METRICS.len()];
        for (figure, (_, _, field, scale, _)) in figures.iter_mut().zip(METRICS) {
            *figure = value[field].as_f64().with_context(|| format!("no number `{field}` in it"))? / scale;
        }
        Ok(Figures(figures))
    }
}

/// One line a metric: both medians, then tokbar / mlx-lm of each pair as median, least and most.
pub fn table(pairs: &[[Figures; 2]]) -> String {
    let mut out = format!("{:<20} {:>10} {:>10}   {:<26}better\n", "", "tokbar", "mlx-lm", "tokbar / mlx-lm (range)");
    for (index, (title, unit, _, _, better)) in METRICS.iter().enumerate() {
        let side = |side: usize| Spread::of(pairs.iter().map(|pair| pair[side].0[index]));
        let ratio = Spread::of(pairs.iter().map(|[ours, theirs]| ours.0[index] / theirs.0[index]));
        let ratio = format!("{:.3} ({:.3} to {:.3})", ratio.median, ratio.least, ratio.most);
        let (ours, theirs) = (side(0).median, side(1).median);
        let way = if *better == Better::Higher { "above 1" } else { "below 1" };
        writeln!(out, "{:<20} {ours:>10.2} {theirs:>10.2}   {ratio:<26}{way}", format!("{title}, {unit}"))
            .expect("writing to a string");
    }
    out
}

struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of at least one value.
    fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Spread { median: f64::midpoint(low, high), least: values[0], most: values[values.len() - 1] }
    }
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
