//! Models on disk: listed, added, removed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::loopback::Loopback;
use crate::repository::{ID, Repository};

/// A user with a home of their own.
pub struct User {
    pub home: TempDir,
    pub endpoint: String,
}

impl User {
    pub fn new(hub: &Loopback) -> Self {
        Self { home: tempfile::tempdir().expect("a folder"), endpoint: hub.endpoint() }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokbar"));
        command.args(args).env("HOME", self.home.path()).env("HF_ENDPOINT", &self.endpoint).stdin(Stdio::null());
        for name in ["HF_HUB_CACHE", "HF_HOME", "HF_TOKEN", "OLLAMA_MODELS", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        command.env("TOKBAR_CONFIG_DIR", self.home.path().join("config")).env("HF_HUB_OFFLINE", "");
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("tokbar starts")
    }

    /// Standard output of a command that succeeds.
    pub fn says(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Standard error of a command that fails.
    pub fn fails(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).expect("UTF-8")
    }

    pub fn cache(&self) -> std::path::PathBuf {
        self.home.path().join(".cache/huggingface/hub")
    }
}

pub fn hub() -> Loopback {
    let repository = Repository::new();
    Loopback::start(move |asked, _| repository.answer(asked))
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a place");
    fs::write(path, text).expect("a place");
}

#[test]
fn models_are_listed_wherever_they_lie() {
    let hub = hub();
    let user = User::new(&hub);
    assert!(user.says(&["ls"]).contains("no models yet"));
    user.says(&["pull", ID]);
    put(&user.home.path().join(".lmstudio/models/lab/broken/config.json"), "{}");
    let said = user.says(&["ls"]);
    assert!(said.contains("Hugging Face cache") && said.contains(ID) && said.contains("800.1 kB"), "{said}");
    assert!(
        said.contains("LM Studio") && said.contains("lab/broken") && said.contains("names no model_type"),
        "{said}"
    );
    let shelves: Value = serde_json::from_str(&user.says(&["ls", "--json"])).expect("JSON");
    assert_eq!(shelves[0]["models"][0]["condition"]["state"], "ready", "{shelves}");
    assert_eq!(shelves[1]["models"][0]["condition"]["state"], "broken", "{shelves}");
}

#[test]
fn added_folders_are_remembered_and_may_be_absent() {
    let hub = hub();
    let user = User::new(&hub);
    let drive = user.home.path().join("drive");
    put(&drive.join("mine/config.json"), "{}");
    let path = drive.canonicalize().expect("it is there");
    let path = path.to_str().expect("UTF-8");
    assert!(user.says(&["ls", "--add", path]).contains("mine"));
    fs::rename(&drive, user.home.path().join("away")).expect("it can be moved");
    assert!(user.says(&["ls"]).contains("not there; is its drive connected?"));
    user.says(&["ls", "--forget", path]);
    assert!(user.says(&["ls"]).contains("no models yet"));
    assert!(user.fails(&["ls", "--forget", path]).contains("was not added"));
    assert!(user.fails(&["ls", "--add", path]).contains("cannot find"));
}

#[test]
fn removing_asks_says_whose_it_is_and_tells_the_size() {
    let hub = hub();
    let user = User::new(&hub);
    assert!(user.fails(&["rm", ID]).contains("there is no model org/tiny on this machine"));
    user.says(&["pull", ID]);
    let said = user.fails(&["rm", ID]);
    assert!(
        said.contains("in the Hugging Face cache, which other programs share?") && said.contains("--yes"),
        "{said}"
    );
    let removed: Value = serde_json::from_str(&user.says(&["rm", ID, "--yes", "--json"])).expect("JSON");
    assert_eq!(removed["name"], ID);
    assert!(removed["n_bytes"].as_u64().is_some_and(|n_bytes| n_bytes > 800_000), "{removed}");
    assert!(!user.cache().join("models--org--tiny").exists());
}

#[test]
fn a_question_downloads_nothing() {
    let hub = hub();
    let user = User::new(&hub);
    let said = user.fails(&["info", ID]);
    assert!(said.contains("is not on this machine; `tokbar pull org/tiny` gets it"), "{said}");
    assert!(user.fails(&["info", "nonsense"]).contains("there is no model named nonsense"));
    let said = user.says(&["info", "qwen3.5-9b"]);
    for part in ["mlx-community/Qwen3.5-9B-4bit", "tokbar pull qwen3.5-9b", "needs", "right tool calls in 83 %"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let told: Value = serde_json::from_str(&user.says(&["info", "lfm2.5-2.6b", "--json"])).expect("JSON");
    assert_eq!((&told["is_here"], &told["id"]), (&json!(false), &json!("LiquidAI/LFM2.5-2.6B-MLX/4bit")));
    assert!(told["fit"]["words"].as_str().is_some_and(|words| words.contains("needs")), "{told}");
    assert!(hub.asked().is_empty());
    user.says(&["pull", ID]);
    assert!(user.says(&["info", ID]).contains("model_type"));
}

#[test]
fn one_of_several_models_of_a_repository_is_got_shown_and_removed() {
    let whole = Repository::new();
    let mut repository = Repository { files: Vec::new() };
    for folder in ["4bit", "8bit"] {
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            repository = repository.with(&format!("{folder}/{name}"), whole.bytes(name));
        }
    }
    let hub = Loopback::start(move |asked, _| repository.answer(asked));
    let user = User::new(&hub);
    let said = user.fails(&["pull", ID]);
    assert!(said.contains("`org/tiny/4bit`, `org/tiny/8bit`"), "{said}");
    for name in ["org/tiny/4bit", "org/tiny/8bit"] {
        assert!(user.says(&["pull", name]).contains(&format!("tokbar run {name}")));
    }
    let said = user.says(&["ls"]);
    assert!(said.contains("org/tiny/4bit") && said.contains("org/tiny/8bit"), "{said}");
    let info: Value = serde_json::from_str(&user.says(&["info", "org/tiny/8bit", "--json"])).expect("JSON");
    assert!(info["folder"].as_str().is_some_and(|path| path.ends_with("/8bit")), "{info}");
    assert!(info["fit"]["words"].as_str().is_some_and(|words| words.contains("needs")), "{info}");
    user.says(&["rm", "org/tiny/4bit", "--yes"]);
    let said = user.says(&["ls"]);
    assert!(!said.contains("org/tiny/4bit") && said.contains("org/tiny/8bit"), "{said}");
    assert!(user.says(&["info", "org/tiny/8bit"]).contains("model_type"));
}

#[test]
fn a_model_of_another_program_is_used_and_not_downloaded() {
    let hub = hub();
    let user = User::new(&hub);
    let repository = Repository::new();
    let dir = user.home.path().join(".lmstudio/models/org/tiny");
    for (name, bytes) in &repository.files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a place");
        fs::write(path, bytes).expect("a place");
    }
    let info: Value = serde_json::from_str(&user.says(&["info", ID, "--json"])).expect("JSON");
    assert_eq!(info["folder"].as_str().map(Path::new), Some(dir.as_path()));
    assert!(hub.asked().is_empty());
}

#[test]
fn a_model_of_ones_own_comes_before_one_of_the_list_that_is_called_so() {
    let hub = hub();
    let user = User::new(&hub);
    let drive = user.home.path().join("drive");
    for name in ["smollm2", "mine"] {
        for (file, bytes) in &Repository::new().files {
            let path = drive.join(name).join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a place");
            fs::write(path, bytes).expect("a place");
        }
    }
    user.says(&["ls", "--add", drive.to_str().expect("UTF-8")]);
    for name in ["smollm2", "mine"] {
        let info: Value = serde_json::from_str(&user.says(&["info", name, "--json"])).expect("JSON");
        let folder = Path::new(info["folder"].as_str().expect("a path")).canonicalize().expect("it is there");
        assert_eq!(folder, drive.join(name).canonicalize().expect("it is there"));
    }
    assert!(hub.asked().is_empty());
}
