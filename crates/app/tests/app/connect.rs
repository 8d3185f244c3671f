//! Clients are pointed at a server that runs, and launched against it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::testbed::Server;
use crate::tiny::tiny_model;

/// Runs a command as a user whose home is `home`, with the programs of `home/bin`.
fn tokbar(home: &Path, server: &Server, args: &[&str]) -> Output {
    let path = std::env::var("PATH").expect("a PATH");
    Command::new(env!("CARGO_BIN_EXE_tokbar"))
        .args(args)
        .args(["--server", server.address()].iter().filter(|_| args[0] == "connect" && !args.contains(&"--remove")))
        .env("HOME", home)
        .env("TOKBAR_CONFIG_DIR", home.join("config"))
        .env("PATH", format!("{}:{path}", home.join("bin").display()))
        .env_remove("CODEX_HOME")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("tokbar starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn a_client_is_connected_launched_and_put_back() {
    let (model, home) = (tiny_model(), tempfile::tempdir().expect("a home"));
    let server = Server::start_with(model.path(), &["--name", "tiny"]);
    let file = home.path().join(".codex/config.toml");
    fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    fs::write(&file, "model = \"mine\"\n").expect("a file");

    let shown = tokbar(home.path(), &server, &["connect", "codex", "--dry-run"]);
    assert!(said(&shown).contains("+ model_provider = \"tokbar\""), "{}", said(&shown));
    assert!(!tokbar(home.path(), &server, &["connect", "codex"]).status.success(), "nobody was asked");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "model = \"mine\"\n");
    let done = tokbar(home.path(), &server, &["connect", "codex", "--yes"]);
    assert!(done.status.success(), "{}", said(&done));
    let text = fs::read_to_string(&file).expect("it is there");
    assert!(text.contains(&format!("http://{}/v1", server.address())), "{text}");
    let listed = tokbar(home.path(), &server, &["connect", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    let codex = listed.as_array().expect("a list").iter().find(|client| client["name"] == "codex").expect("codex");
    assert_eq!(codex["is_connected"], true);
    assert!(tokbar(home.path(), &server, &["connect", "codex", "--remove", "--yes"]).status.success());
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "model = \"mine\"\n");

    let program = home.path().join("bin/codex");
    fs::create_dir_all(program.parent().expect("a folder")).expect("a folder");
    fs::write(&program, "#!/bin/sh\necho \"$@\"; echo \"$CODEX_HOME\"; cat \"$CODEX_HOME/config.toml\"; exit 7\n")
        .expect("a file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it may run");
    let ran = tokbar(
        home.path(),
        &server,
        &["launch", "--server", server.address(), "--model", "tiny", "codex", "exec", "--json", "hi"],
    );
    assert_eq!(ran.status.code(), Some(7), "{}", said(&ran));
    let text = said(&ran);
    assert!(text.starts_with("exec --json hi\n") && text.contains("model = \"tiny\""), "{text}");
    let folder = text.lines().nth(1).expect("its folder");
    assert!(!folder.starts_with(home.path().to_str().expect("UTF-8")) && !Path::new(folder).exists(), "{folder}");
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "model = \"mine\"\n");
}
