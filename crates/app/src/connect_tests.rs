use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;

fn home() -> (TempDir, Place) {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::under(dir.path());
    (dir, place)
}

fn target() -> Target {
    Target {
        address: "http://localhost:8000".to_owned(),
        model: "org/Some-Model-4bit".to_owned(),
        n_context: 40_960,
        key: Some("tk-secret".to_owned()),
    }
}

fn connect(name: &str, place: &Place) -> Result<Plan> {
    let plan = plan(find(name).unwrap(), &target(), place)?;
    apply(&plan, place)?;
    Ok(plan)
}

fn remove(name: &str, place: &Place) -> Result<()> {
    apply(&plan_removal(find(name).unwrap(), place)?, place)
}

/// All files below a folder with what they say.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.push((path.clone(), Vec::new()));
            found.extend(tree(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

/// Settings as people have them.
const FILES: &[(&str, &str)] = &[
    (
        ".claude/settings.json",
        "{\n  \"permissions\": {\n    \"allow\": [\"Bash(npm run:*)\"]\n  },\n  \"env\": {\n    \"ANTHROPIC_MODEL\": \"opus\"\n  }\n}",
    ),
    (
        ".codex/config.toml",
        "# mine\nmodel = \"gpt-5\" # fast\n\n[mcp_servers.x]\ncommand = \"x\"\n\n[tui]\nnotifications = true\n",
    ),
    (
        ".config/opencode/opencode.json",
        "{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t// quiet\n\t\"autoupdate\": false\n}\n",
    ),
    (
        ".continue/config.yaml",
        "name: Mine\nversion: 0.0.1\nschema: v1\n\nmodels:\n- name: GPT\n  provider: openai\n  model: gpt-4o\n\n# what it sees\ncontext:\n- provider: diff\n",
    ),
    (".aider.conf.yml", "## aider\ndark-mode: true\nmodel: sonnet\n"),
    (".qwen/settings.json", "{\"$version\":3,\"model\":{\"name\":\"qwen3-coder-plus\"}}"),
    (".pi/agent/models.json", "{\"providers\": {\"x\": {\"baseUrl\": \"http://x\", \"models\": []}}}\n"),
    (
        ".cline/data/settings/providers.json",
        "{\n  \"version\": 1,\n  \"lastUsedProvider\": \"cline\",\n  \"modes\": {},\n  \"providers\": {\n    \"openai-compatible\": {\n      \"settings\": {\n        \"provider\": \"openai-compatible\",\n        \"model\": \"x\"\n      },\n      \"updatedAt\": \"2026-12-02T16:00:00.000Z\",\n      \"tokenSource\": \"manual\"\n    }\n  }\n}\n",
    ),
    (
        ".openclaw/openclaw.json",
        "{\n  // mine\n  \"agents\": { \"defaults\": { \"model\": { \"primary\": \"x/y\", \"fallbacks\": [] } } },\n}\n",
    ),
    (".config/goose/config.yaml", "extensions:\n  developer:\n    enabled: true\nGOOSE_PROVIDER: anthropic\n"),
    (
        ".config/zed/settings.json",
        "// Zed settings\n//\n// see the docs\n{\n  \"ui_font_size\": 16,\n  \"agent\": {\n    \"default_model\": {\n      \"provider\": \"zed.dev\", // paid\n      \"model\": \"claude\",\n    },\n  },\n}\n",
    ),
    (".config/io.datasette.llm/extra-openai-models.yaml", "- model_id: other\n  model_name: gpt\n"),
];

fn with_files(dir: &Path) {
    for (path, text) in FILES {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn edited() -> impl Iterator<Item = &'static Client> {
    clients().iter().filter(|client| matches!(client.how, How::Files(_)))
}

#[test]
fn removal_leaves_every_byte_as_it_was() {
    let (dir, place) = home();
    with_files(dir.path());
    let before = tree(dir.path());
    for client in edited() {
        connect(client.name, &place).unwrap_or_else(|error| panic!("{}: {error:#}", client.name));
        assert_ne!(tree(dir.path()), before, "{}", client.name);
        // Twice is as good as once.
        connect(client.name, &place).unwrap();
        remove(client.name, &place).unwrap_or_else(|error| panic!("{}: {error:#}", client.name));
        let after: Vec<_> =
            tree(dir.path()).into_iter().filter(|(path, _)| !path.starts_with(&place.records)).collect();
        assert_eq!(after, before, "{}", client.name);
    }
}

#[test]
fn a_user_without_settings_has_none_afterwards() {
    for client in edited() {
        let (dir, place) = home();
        connect(client.name, &place).unwrap_or_else(|error| panic!("{}: {error:#}", client.name));
        for file in client.files(&place) {
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0, "{} holds a key", file.display());
        }
        remove(client.name, &place).unwrap_or_else(|error| panic!("{}: {error:#}", client.name));
        let left: Vec<_> = tree(dir.path()).into_iter().filter(|(path, _)| !path.starts_with(&place.records)).collect();
        assert_eq!(left, [], "{}", client.name);
    }
}

#[test]
fn what_a_person_changes_meanwhile_is_kept() {
    let (dir, place) = home();
    with_files(dir.path());
    connect("codex", &place).unwrap();
    let file = dir.path().join(".codex/config.toml");
    let changed = fs::read_to_string(&file).unwrap().replace("[tui]", "[history]\npersistence = \"none\"\n\n[tui]");
    fs::write(&file, changed).unwrap();
    connect("codex", &place).unwrap();
    remove("codex", &place).unwrap();
    let left = fs::read_to_string(&file).unwrap();
    assert!(left.contains("model = \"gpt-5\" # fast") && left.contains("[history]"), "{left}");
    assert!(!left.contains("tokbar"), "{left}");
}

#[test]
fn files_that_cannot_be_edited_are_left_untouched() {
    let (dir, place) = home();
    let file = dir.path().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in ["{\"env\": {", "{\"env\": 5}", "[]", "\u{0}\u{1}", &"{\"a\":".repeat(10_000)] {
        fs::write(&file, text).unwrap();
        let error = format!("{:#}", connect("claude-code", &place).unwrap_err());
        assert!(error.contains("settings.json") && error.len() < 400, "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert!(!record::exists(&place, "claude-code"));
    }
    fs::write(&file, b"\xff\xfe{}").unwrap();
    assert!(connect("claude-code", &place).is_err());
    fs::write(&file, "{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let error = format!("{:#}", connect("claude-code", &place).unwrap_err());
    assert!(error.contains("read-only"), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
}

#[test]
fn links_stay_links_and_broken_ones_are_refused() {
    let (dir, place) = home();
    let (folder, real) = (dir.path().join(".codex"), dir.path().join("dotfiles/codex.toml"));
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::write(&real, "model = \"x\"\n").unwrap();
    let link = folder.join("config.toml");
    symlink(&real, &link).unwrap();
    connect("codex", &place).unwrap();
    assert!(link.is_symlink() && fs::read_to_string(&real).unwrap().contains("tokbar"));
    remove("codex", &place).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "model = \"x\"\n");
    fs::remove_file(&real).unwrap();
    assert!(connect("codex", &place).is_err());
    symlink(dir.path(), dir.path().join("loop")).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&link, &link).unwrap();
    assert!(connect("codex", &place).is_err());
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    let error = format!("{:#}", connect("codex", &place).unwrap_err());
    assert!(error.contains("is no file"), "{error}");
}

#[test]
fn a_change_between_plan_and_act_stops_it() {
    let (dir, place) = home();
    with_files(dir.path());
    let plan = plan(find("aider").unwrap(), &target(), &place).unwrap();
    let file = dir.path().join(".aider.conf.yml");
    fs::write(&file, "model: mine\n").unwrap();
    assert!(apply(&plan, &place).is_err());
    assert_eq!(fs::read_to_string(&file).unwrap(), "model: mine\n");
}

#[test]
fn what_is_shown_holds_no_key() {
    let (dir, place) = home();
    with_files(dir.path());
    for client in edited() {
        let plan = plan(client, &target(), &place).unwrap();
        let shown: String = plan.changes.iter().map(Change::diff).collect();
        assert!(!shown.contains("tk-secret") && shown.lines().any(|line| line.starts_with('+')), "{shown}");
    }
}

#[test]
fn every_client_that_is_told_what_to_do_is_told_of_server_and_model() {
    for client in clients() {
        let How::Steps(steps) = client.how else { continue };
        let said = steps(&target());
        assert!(said.contains("org/Some-Model-4bit") || said.contains("Some-Model"), "{}: {said}", client.name);
    }
    let names: Vec<&str> = clients().iter().map(|client| client.name).collect();
    assert!(names.is_sorted(), "{names:?}");
    let (_dir, place) = home();
    assert!(list(&place).iter().all(|client| !client.is_connected));
}

#[test]
fn a_removal_without_a_connection_says_so() {
    let (_dir, place) = home();
    let error = plan_removal(find("zed").unwrap(), &place).unwrap_err().to_string();
    assert!(error.contains("Zed was not connected"), "{error}");
}
