//! Results as a picture: a small chart for each figure of each suite, a bar for each target.

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::results::{Better, Results, Row};

const N_COLUMNS: usize = 2;
const PANEL: (u32, u32) = (720, 330);
const HEAD_HEIGHT: u32 = 50;
/// Distinct for colour-blind eyes too (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
];

/// A chart: one figure of one suite, case by case.
struct Panel<'a> {
    title: String,
    rows: Vec<&'a Row<'a>>,
}

/// The picture as SVG text.
///
/// # Errors
/// When there is nothing to draw.
pub fn svg(results: &Results) -> Result<String> {
    let rows = results.rows();
    let panels = panels(&rows);
    let n_lines = panels.len().div_ceil(N_COLUMNS).max(1);
    let size = (PANEL.0 * N_COLUMNS as u32, PANEL.1 * n_lines as u32 + HEAD_HEIGHT);
    let mut out = String::new();
    {
        let area = SVGBackend::with_string(&mut out, size).into_drawing_area();
        draw(&area, results, &panels).map_err(|error| anyhow!("the results cannot be drawn: {error}"))?;
        area.present().map_err(|error| anyhow!("the results cannot be drawn: {error}"))?;
    }
    Ok(out)
}

/// Figures that can be better or worse; what was merely counted stays in the table.
fn panels<'a>(rows: &'a [Row<'a>]) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel<'a>> = Vec::new();
    for row in rows.iter().filter(|row| row.head.better != Better::Neither) {
        let head = row.head;
        let unit = if head.unit.is_empty() { String::new() } else { format!(" ({})", head.unit) };
        let better = if head.better == Better::Higher { "higher" } else { "lower" };
        let title = format!("{}: {}{unit}, {better} is better", head.suite, head.metric);
        match panels.iter_mut().find(|panel| panel.title == title) {
            Some(panel) => panel.rows.push(row),
            None => panels.push(Panel { title, rows: vec![row] }),
        }
    }
    panels
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

fn draw(area: &Area<'_>, results: &Results, panels: &[Panel<'_>]) -> Drawn {
    area.fill(&WHITE)?;
    let (head, body) = area.split_vertically(HEAD_HEIGHT);
    legend(&head, results)?;
    let places = body.split_evenly((panels.len().div_ceil(N_COLUMNS).max(1), N_COLUMNS));
    for (panel, place) in panels.iter().zip(&places) {
        chart(place, panel, results.targets.len())?;
    }
    Ok(())
}

fn legend(area: &Area<'_>, results: &Results) -> Drawn {
    const WIDTH: i32 = 220;
    for (idx, target) in results.targets.iter().enumerate() {
        let left = 20 + WIDTH * idx as i32;
        area.draw(&Rectangle::new([(left, 18), (left + 16, 34)], colour(idx).filled()))?;
        area.draw(&Text::new(target.name.clone(), (left + 24, 18), ("sans-serif", 17)))?;
    }
    Ok(())
}

fn chart(area: &Area<'_>, panel: &Panel<'_>, n_targets: usize) -> Drawn {
    let values = |column: usize| panel.rows.iter().filter_map(move |row| row.median(column));
    let top = (0..n_targets).flat_map(values).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.12 } else { 1.0 };
    let n_cases = panel.rows.len();
    let mut chart = ChartBuilder::on(area)
        .margin(14)
        .caption(&panel.title, ("sans-serif", 18))
        .x_label_area_size(30)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..n_cases as f64, 0.0..top)?;
    let label = |x: &f64| {
        let is_middle = (x.fract() - 0.5).abs() < 1e-6;
        if is_middle {
            panel.rows.get(*x as usize).map_or(String::new(), |row| short(&row.head.case))
        } else {
            String::new()
        }
    };
    chart.configure_mesh().disable_x_mesh().x_labels(2 * n_cases + 1).x_label_formatter(&label).draw()?;
    let width = 0.8 / n_targets.max(1) as f64;
    for (case_idx, row) in panel.rows.iter().enumerate() {
        for column in 0..n_targets {
            let Some(value) = row.median(column) else { continue };
            let left = case_idx as f64 + 0.1 + width * column as f64;
            let bar = Rectangle::new([(left, 0.0), (left + width * 0.94, value)], colour(column).filled());
            chart.draw_series(std::iter::once(bar))?;
        }
    }
    Ok(())
}

fn colour(idx: usize) -> RGBColor {
    COLOURS[idx % COLOURS.len()]
}

/// What fits under a bar.
fn short(case: &str) -> String {
    const N_CHARS_MAX: usize = 22;
    if case.chars().count() <= N_CHARS_MAX {
        return case.to_owned();
    }
    let cut: String = case.chars().take(N_CHARS_MAX - 1).collect();
    format!("{}\u{2026}", cut.trim_end())
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
