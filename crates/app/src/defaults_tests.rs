use std::fs;

use super::*;

fn check(text: &str, expected: SamplingDefaults) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("generation_config.json"), text).unwrap();
    assert_eq!(recommended(dir.path()), expected, "{text}");
}

#[test]
fn recommendations_are_taken_where_they_make_sense() {
    let own = SamplingDefaults::default();
    check("{}", own.clone());
    check(r#"{"temperature": 0.6, "top_k": 20}"#, SamplingDefaults { temperature: 0.6, top_k: 20, ..own.clone() });
    check(r#"{"temperature": -3, "top_p": 0.5}"#, SamplingDefaults { top_p: 0.5, ..own.clone() });
    check(r#"{"do_sample": false, "temperature": 0.6}"#, SamplingDefaults { temperature: 0.0, ..own.clone() });
    check("{not json", own.clone());
    check(r#"{"temperature": "hot"}"#, own);
}

#[test]
fn no_file_recommends_nothing() {
    assert_eq!(recommended(tempfile::tempdir().unwrap().path()), SamplingDefaults::default());
}

#[test]
fn a_pipe_recommends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("generation_config.json");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    assert_eq!(recommended(dir.path()), SamplingDefaults::default());
}
