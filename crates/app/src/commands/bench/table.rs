//! Results for people at a terminal.

use super::results::{Better, Results, Row};

/// One table a suite, then notes.
pub fn text(results: &Results) -> String {
    let rows = results.rows();
    let mut out = String::new();
    let mut suites: Vec<&str> = Vec::new();
    for row in &rows {
        if !suites.contains(&row.head.suite.as_str()) {
            suites.push(&row.head.suite);
        }
    }
    for suite in suites {
        let lines: Vec<Vec<String>> = std::iter::once(heads(results))
            .chain(rows.iter().filter(|row| row.head.suite == suite).map(|row| cells(results, row)))
            .collect();
        out.push_str(&format!("\n{suite}\n{}", aligned(&lines)));
    }
    out.push_str(&standing(results, &rows));
    out.push_str(&notes(results));
    out
}

fn heads(results: &Results) -> Vec<String> {
    let mut line = vec!["case".to_owned(), "figure".to_owned()];
    let first = results.targets.first().map_or("", |target| &target.name);
    for (idx, target) in results.targets.iter().enumerate() {
        line.push(target.name.clone());
        if idx > 0 {
            line.push(format!("{first} / it"));
        }
    }
    line.push("better".to_owned());
    line
}

fn cells(results: &Results, row: &Row<'_>) -> Vec<String> {
    let unit = if row.head.unit.is_empty() { String::new() } else { format!(", {}", row.head.unit) };
    let mut line = vec![row.head.case.clone(), format!("{}{unit}", row.head.metric)];
    for column in 0..results.targets.len() {
        line.push(row.median(column).map_or_else(|| "-".to_owned(), number));
        if column > 0 {
            line.push(row.ratio(column).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x")));
        }
    }
    line.push(match row.head.better {
        Better::Higher => "higher".to_owned(),
        Better::Lower => "lower".to_owned(),
        Better::Neither => String::new(),
    });
    line
}

/// Three digits that count, as people write them.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The first two columns and the last start on the left, the numbers end on the right.
fn aligned(lines: &[Vec<String>]) -> String {
    let n_columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width =
        |column: usize| lines.iter().filter_map(|line| Some(line.get(column)?.chars().count())).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let is_text = column < 2 || column + 1 == n_columns;
            text.push_str(&if is_text { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") });
        }
        out.push_str(text.trim_end());
        out.push('\n');
    }
    out
}

/// How often the first target is ahead of each other.
fn standing(results: &Results, rows: &[Row<'_>]) -> String {
    let Some((first, others)) = results.targets.split_first() else { return String::new() };
    let mut out = String::new();
    for (idx, other) in others.iter().enumerate() {
        let judged: Vec<(&Row<'_>, bool)> = rows.iter().filter_map(|row| Some((row, row.is_ahead(idx + 1)?))).collect();
        let behind: Vec<String> = judged
            .iter()
            .filter(|(_, is_ahead)| !is_ahead)
            .map(|(row, _)| format!("{} {}: {}", row.head.suite, row.head.case, row.head.metric))
            .collect();
        let n_ahead = judged.len() - behind.len();
        out.push_str(&format!("\n{} is ahead of {} in {n_ahead} of {} rows", first.name, other.name, judged.len()));
        if !behind.is_empty() {
            out.push_str(&format!("; not in {}", behind.join("; ")));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

fn notes(results: &Results) -> String {
    let notes = results.targets.iter().flat_map(|target| target.notes.iter().map(|note| (&target.name, note)));
    notes.map(|(name, note)| format!("\nnote: {name}: {note}\n")).collect()
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
