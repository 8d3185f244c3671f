//! Wrong addresses that clients make of right ones: a slash too many, `/v1` missing or doubled, something in front.

use crate::control;

/// What to do about an address at which there is nothing.
pub fn advice(path: &str) -> String {
    match endpoint(path) {
        Some(near) => format!("call {near} instead, and check the base URL in the client's settings"),
        None => "the endpoints are listed at /".to_owned(),
    }
}

/// The endpoint that was meant: the longest that `path` ends with, or the shortest that ends with `path`.
fn endpoint(path: &str) -> Option<&'static str> {
    let asked = parts(path);
    let ends_with = |long: &[String], short: &[String]| !short.is_empty() && long.ends_with(short);
    let within = control::endpoints().filter(|known| ends_with(&asked, &parts(known)));
    let around = control::endpoints().filter(|known| ends_with(&parts(known), &asked));
    within.max_by_key(|known| known.len()).or_else(|| around.min_by_key(|known| known.len()))
}

fn parts(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty()).map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
#[path = "near_tests.rs"]
mod tests;
