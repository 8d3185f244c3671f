use super::*;

#[test]
fn paths_survive_the_shell() {
    let path = Path::new("/a b/it's $HOME");
    let said = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(path))).output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "/a b/it's $HOME");
}

#[test]
fn every_target_comes_with_its_line_and_its_models_name() {
    let target = |name, model| Target { name, line: format!("{name} {{port}}"), model };
    let options = target_options(&[target("a", None), target("b", Some("m"))]);
    assert_eq!(options, ["--target", "a=a {port}", "--target", "b=b {port}", "--target-model", "b=m"]);
}

#[test]
fn files_go_to_the_work_folder_unless_named() {
    let options = |line: &str| file_options(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), Path::new("w"));
    assert_eq!(
        options("cold"),
        [Path::new("--json"), Path::new("w/rivals.json"), Path::new("--svg"), Path::new("w/rivals.svg")]
    );
    assert_eq!(options("--json x"), [Path::new("--svg"), Path::new("w/rivals.svg")]);
    assert!(options("--svg=y --json=x").is_empty());
}
