use clap::Parser;

use super::*;
use crate::cli::{BenchCommand, Cli, Command};

fn parse(line: &str) -> Result<Vec<TargetSpec>> {
    let words = ["tokbar", "bench", "run"].into_iter().chain(line.split('|'));
    let cli = Cli::try_parse_from(words.filter(|word| !word.is_empty())).context("clap")?;
    let Command::Bench(args) = cli.command else { bail!("no bench") };
    let BenchCommand::Run(args) = args.command else { bail!("no run") };
    targets(&args.targets)
}

fn check(line: &str, expected: &[(&str, Source, Option<&str>)]) {
    let targets = parse(line).expect(line);
    let got: Vec<_> = targets.iter().map(|t| (t.name.as_str(), t.source.clone(), t.model.as_deref())).collect();
    assert_eq!(got, expected, "{line}");
}

#[test]
fn servers_are_found_in_every_form() {
    check("--model|m", &[("tokbar", Source::Own("m".into()), None)]);
    check("--url|http://h:1", &[("server", Source::Url("http://h:1".to_owned()), None)]);
    check("--url|http://h:1|--model|m", &[("server", Source::Url("http://h:1".to_owned()), Some("m"))]);
    check("cold|--serve-command|s {port}", &[("server", Source::Command("s {port}".to_owned()), None)]);
    check(
        "--target|a=http://h:1/v1|--target|b=x --p {port} --y=z|--target-model|b=n|--model|m",
        &[
            ("a", Source::Url("http://h:1/v1".to_owned()), Some("m")),
            ("b", Source::Command("x --p {port} --y=z".to_owned()), Some("n")),
        ],
    );
}

#[test]
fn what_cannot_be_measured_is_named() {
    for (line, part) in [
        ("", "what should be measured?"),
        ("--serve-command|s --port 1", "write {port} where"),
        ("--target|x", "NAME=URL"),
        ("--target|=x", "NAME=URL"),
        ("--target|a=s", "write {port} where"),
        ("--target|a=http://h|--target|a=http://g", "two targets are called a"),
        ("--target|a=http://h|--target-model|b=m", "no target b"),
        ("--url|http://h|--target|a=http://h", "cannot be used with"),
    ] {
        let error = format!("{:#}", parse(line).expect_err(line));
        assert!(error.contains(part), "{line}: {error}");
    }
}
