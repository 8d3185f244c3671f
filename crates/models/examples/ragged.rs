//! Decode throughput of sequences of different lengths, alone and together: `ragged <checkpoint> [rows] [steps] [shortest]`.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokbar_engine::{Backend, Opening, Prefix, Row, RowInput, RowOutput, SamplingOptions, SequenceId, Step};
use tokbar_models::{LoadOptions, MlxBackend};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let dir = args.first().ok_or("usage: ragged <checkpoint> [rows] [steps] [shortest]")?;
    let number = |at: usize, default: usize| args.get(at).map_or(Ok(default), |text| text.parse());
    let (n_rows, n_steps, n_shortest) = (number(1, 8)?, number(2, 48)?, number(3, 64)?);
    let mut backend = MlxBackend::load(Path::new(dir), &LoadOptions::default(), &mut |_| {})?;
    let lengths: Vec<usize> = (0..n_rows).map(|at| n_shortest + at * n_shortest / 2).collect();
    for (at, &n) in lengths.iter().enumerate() {
        let id = SequenceId(at as u64);
        let prompt: Vec<u32> = (0..n).map(|i| ((i * 31 + at * 17) % 4000) as u32).collect();
        let sampling = Arc::new(SamplingOptions::default());
        backend.open(id, &Opening { sampling, prompt: &prompt, output: &[], prefix: Prefix::default() })?;
        let row = Row { sequence: id, start: 0, input: RowInput::Tokens(prompt.clone()), output: RowOutput::None };
        backend.submit(&Step { rows: vec![row] })?;
        backend.collect()?;
    }
    let mut starts = lengths.clone();
    for round in 0..3 {
        let begun = Instant::now();
        for at in 0..n_steps {
            let rows = (0..n_rows).map(|row_idx| Row {
                sequence: SequenceId(row_idx as u64),
                start: starts[row_idx] + at,
                input: if at == 0 { RowInput::Tokens(vec![7]) } else { RowInput::Pending },
                output: RowOutput::sample(0.0),
            });
            backend.submit(&Step { rows: rows.collect() })?;
            if at > 0 {
                backend.collect()?;
            }
        }
        backend.collect()?;
        let seconds = begun.elapsed().as_secs_f64();
        starts.iter_mut().for_each(|start| *start += n_steps);
        let (step_ms, rate) = (seconds * 1e3 / n_steps as f64, (n_rows * n_steps) as f64 / seconds);
        println!("round {round}: {n_rows} rows of {lengths:?} positions: {step_ms:.1} ms a step, {rate:.1} tokens/s");
    }
    Ok(())
}
