//! Set-up, run, test and release chores.

fn main() {}
