//! Biases and penalties, of all places at once. Where a place has none, they leave its logits as they are to the last bit.

use tokbar_engine::TokenId;

use super::{Counts, Place, column};
use crate::mx::{self, Array, Dtype, Result};

/// `[N, V]` logits after the requests' biases, the penalties, and the draws' own biases.
pub(super) fn apply(logits: &Array, places: &[Place<'_>]) -> Result<Array> {
    let biases = places.iter().map(|place| place.options.logit_bias.iter().map(|(&token, &bias)| (token, bias)));
    let logits = added(logits, biases.map(Iterator::collect).collect())?;
    let logits = penalised(logits, places)?;
    added(&logits, places.iter().map(|place| place.draw.bias().to_vec()).collect())
}

/// `[N, V]` with values added to single tokens of each row.
fn added(to: &Array, values: Vec<Vec<(TokenId, f32)>>) -> Result<Array> {
    let n_most = values.iter().map(Vec::len).max().unwrap_or(0);
    if n_most == 0 {
        return Ok(to.clone());
    }
    let shape = [values.len() as i32, n_most as i32];
    // Rows with fewer add nothing to their first token.
    let padded = values.into_iter().flat_map(|mut row| {
        row.resize(n_most, (0, 0.0));
        row
    });
    let (ids, values): (Vec<i32>, Vec<f32>) = padded.map(|(token, value)| (token as i32, value)).unzip();
    mx::scatter_add(to, &Array::from_slice(&ids, &shape), &Array::from_slice(&values, &shape), 1)
}

/// `[N, V]` logits after the penalties.
fn penalised(mut logits: Array, places: &[Place<'_>]) -> Result<Array> {
    if places.iter().all(|place| place.counts.is_none()) {
        return Ok(logits);
    }
    let zero = mx::scalar(0.0);
    let output = output_counts(&logits, places)?;
    let is_any = |is_on: fn(&Place<'_>) -> bool| places.iter().any(|place| place.counts.is_some() && is_on(place));
    if is_any(|place| place.options.repetition_penalty != 1.0) {
        let prompt = stacked(&logits, places, |counts| &counts.prompt)?;
        let is_seen = mx::greater(&mx::add(&prompt, &output)?, &zero)?;
        let penalty = column(places, |place| place.options.repetition_penalty);
        let is_positive = mx::greater(&logits, &zero)?;
        let penalised = mx::select(&is_positive, &mx::divide(&logits, &penalty)?, &mx::multiply(&logits, &penalty)?)?;
        logits = mx::select(&is_seen, &penalised, &logits)?;
    }
    if is_any(|place| place.options.presence_penalty != 0.0) {
        let is_seen = mx::cast(&mx::greater(&output, &zero)?, Dtype::Float32)?;
        logits =
            mx::subtract(&logits, &mx::multiply(&is_seen, &column(places, |place| place.options.presence_penalty))?)?;
    }
    if is_any(|place| place.options.frequency_penalty != 0.0) {
        let penalty = column(places, |place| place.options.frequency_penalty);
        logits = mx::subtract(&logits, &mx::multiply(&output, &penalty)?)?;
    }
    Ok(logits)
}

/// `[N, V]`: what each place's output holds, the drafts before it included.
fn output_counts(logits: &Array, places: &[Place<'_>]) -> Result<Array> {
    let counts = stacked(logits, places, |counts| &counts.output)?;
    let drafts = places.iter().map(|place| {
        let counted = place.counts.map_or(&[][..], |_| place.before);
        counted.iter().map(|token| (*token, 1.0)).collect()
    });
    added(&counts, drafts.collect())
}

/// `[N, V]`: one kind of counts of each place; none where it has none.
fn stacked(logits: &Array, places: &[Place<'_>], kind: fn(&Counts) -> &Array) -> Result<Array> {
    let none = mx::zeros(&[1, logits.dim(-1)], Dtype::Float32)?;
    match places {
        [place] => Ok(place.counts.map_or(none, |counts| kind(counts).clone())),
        places => {
            let rows: Vec<&Array> = places.iter().map(|place| place.counts.map_or(&none, kind)).collect();
            mx::concatenate(&rows, 0)
        }
    }
}
