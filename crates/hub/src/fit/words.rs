//! The sum in words: what is needed, what there is, and what would help.

use super::{Fit, Unloaded, Verdict};

/// One sentence or two.
pub fn say(fit: &Fit, unloaded: &Unloaded) -> String {
    let (need, context) = (gigabytes(fit.need.n_bytes()), tokens(fit.need.n_context));
    let drafter = match fit.need.n_drafter_bytes {
        0 => String::new(),
        n => format!(", of that {} for the draft model", gigabytes(n)),
    };
    let after = match unloaded.names.as_slice() {
        [] => String::new(),
        names => format!(" after unloading {}", names.join(" and ")),
    };
    let sum =
        format!("needs {need} at {context} of context{drafter}; {} free{after}", gigabytes(fit.n_available_bytes));
    match (fit.verdict, fit.n_context_max) {
        (Verdict::Fits, Some(longest)) if longest > fit.need.n_context => {
            format!("{sum}; up to {} of context fit", tokens(longest))
        }
        (Verdict::Fits, _) => sum,
        (Verdict::Tight, _) => format!("{sum}: tight, other programs will be pushed out"),
        (Verdict::TooBig, Some(longest)) => format!("{sum}: too big; try {} of context", tokens(longest)),
        (Verdict::TooBig, None) => {
            format!("{sum}: too big; close other programs, or try a smaller model or fewer bits")
        }
    }
}

/// Bytes as a person compares them with the memory of a machine.
pub fn gigabytes(n_bytes: u64) -> String {
    let gib = n_bytes as f64 / (1_u64 << 30) as f64;
    if gib < 0.1 {
        format!("{:.0} MB", gib * 1024.0)
    } else if gib < 10.0 {
        format!("{gib:.1} GB")
    } else {
        format!("{gib:.0} GB")
    }
}

/// Tokens in thousands, as model cards write them.
fn tokens(n: u64) -> String {
    if n >= 1024 { format!("{}k", n / 1024) } else { format!("{n}") }
}
