//! Sizes as people write them: `512MB`, `8GiB`, `0.5 TB`, `1000`.

/// Powers of 1000, and of 1024 where the unit has an `i`.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1000),
    ("kb", 1000),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("tib", 1 << 40),
];

/// Bytes of a size.
///
/// # Errors
/// When it is no such size.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let n_bytes = number.parse::<f64>().ok().zip(factor).map(|(number, factor)| number * factor as f64);
    match n_bytes {
        Some(n_bytes) if n_bytes >= 1.0 && n_bytes <= (1u64 << 60) as f64 => Ok(n_bytes as u64),
        _ => Err("write a number with a unit, such as 512MB or 20GiB".to_owned()),
    }
}

/// As [`parse`], where nothing at all is a size, too.
///
/// # Errors
/// As [`parse`].
pub fn parse_or_zero(text: &str) -> Result<u64, String> {
    if text.trim() == "0" { Ok(0) } else { parse(text) }
}

/// A size for people: three digits are enough.
pub fn show(n_bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let fitting = units.iter().find(|(_, factor)| n_bytes as f64 >= *factor);
    fitting
        .map_or_else(|| format!("{n_bytes} bytes"), |(unit, factor)| format!("{:.1} {unit}", n_bytes as f64 / factor))
}

#[cfg(test)]
#[path = "size_tests.rs"]
mod tests;
