use super::check;

/// Checks which rules a file of this path and text breaks.
fn broken(path: &str, text: &str, expected: &[&str]) {
    let rules: Vec<&str> = check(path, text).iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, expected, "{path}:\n{text}");
}

#[test]
fn a_finding_names_file_and_line() {
    let finding = check("crates/engine/src/a.rs", "\n\nunsafe fn a() {}").remove(0);
    assert_eq!(finding.place, "crates/engine/src/a.rs:3");
}

#[test]
fn files_and_functions_are_short() {
    let lines = |n: usize| "// a\n".repeat(n);
    broken("crates/hub/src/a.rs", &lines(400), &[]);
    broken("crates/hub/src/a.rs", &lines(401), &["file-length"]);
    broken("crates/hub/src/a.txt", &lines(401), &[]);
    broken("crates/hub/src/a.rs", &format!("fn a() {{\n{}}}", lines(68)), &[]);
    broken("crates/hub/src/a.rs", &format!("fn a() {{\n{}}}", lines(69)), &["function-length"]);
}

#[test]
fn names_say_what_is_inside() {
    broken("crates/hub/src/gguf/mod.rs", "", &["mod-rs"]);
    broken("crates/hub/src/utils.rs", "", &["empty-name"]);
    broken("crates/hub/src/gguf_helpers.rs", "", &["empty-name"]);
    broken("crates/hub/tests/common/a.rs", "", &["empty-name"]);
    broken("crates/hub/src/commonest.rs", "", &[]);
    broken("crates/hub/src/model.rs", "", &[]);
}

#[test]
fn dangerous_words_have_their_places() {
    broken("crates/models/src/layers.rs", "unsafe { f() }", &["unsafe"]);
    broken("crates/models/src/mx.rs", "unsafe { f() }", &[]);
    broken("crates/models/src/mx/ops.rs", "unsafe { f() }", &[]);
    broken("crates/models/src/mxx.rs", "unsafe { f() }", &["unsafe"]);
    broken("crates/hub/src/a.rs", "#[unsafe(no_mangle)]", &["unsafe"]);
    broken("crates/hub/src/a.rs", "// unsafe\nlet a = \"unsafe\"; #[deny(unsafe_code)]", &[]);
    broken("crates/models/src/layers.rs", "use mlx_rs::Array;", &["mlx-door"]);
    broken("crates/models/src/layers.rs", "mlx_sys::mlx_add()", &["mlx-door"]);
    broken("crates/models/src/mx.rs", "use mlx_sys as sys;", &[]);
    broken("crates/engine/src/scheduler.rs", "std::thread::spawn(run)", &["spawn"]);
    broken("crates/server/src/sse.rs", "tokio::task::spawn_blocking(f)", &["spawn"]);
    broken("crates/engine/src/worker.rs", "std::thread::spawn(run)", &[]);
    broken("crates/app/src/wiring.rs", "tokio::spawn(run)", &[]);
    broken("crates/engine/tests/engine/a.rs", "std::thread::spawn(run)", &[]);
    broken("crates/engine/src/a_tests.rs", "thread::sleep(d)", &["sleep"]);
    broken("crates/engine/src/a.rs", "thread::sleep(d)", &[]);
}

#[test]
fn tests_run_and_live_beside_the_code() {
    broken("crates/hub/src/a_tests.rs", "#[ignore]\nfn a() {}", &["ignored-test"]);
    broken("crates/hub/src/a_tests.rs", "#[ignore = \"slow\"]\nfn a() {}", &["ignored-test"]);
    broken("crates/hub/src/a.rs", "#[cfg(test)]\nmod tests {}", &["inline-tests"]);
    broken("crates/hub/src/a.rs", "#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;", &[]);
}

#[test]
fn dialects_do_not_know_one_another() {
    let openai = "crates/server/src/dialects/openai.rs";
    broken(openai, "use super::ollama::Chat;", &["dialects"]);
    broken(openai, "use crate::dialects::anthropic;", &["dialects"]);
    broken(openai, "use crate::dialects::openai::chat;", &[]);
    broken(openai, "use super::super::sse;", &[]);
    broken(openai, "use super::Shape;", &[]);
    broken("crates/server/src/dialects/openai/chat.rs", "use super::error;", &[]);
    broken("crates/server/src/dialects/openai/chat.rs", "use super::super::ollama::Chat;", &["dialects"]);
    broken("crates/server/src/dialects/openai/chat_tests.rs", "use super::super::error;", &[]);
    broken("crates/server/src/dialects/openai/chat_tests.rs", "use super::super::super::ollama::Chat;", &["dialects"]);
    broken("crates/server/src/dialects/openai_tests.rs", "use super::super::ollama;", &["dialects"]);
    broken("crates/server/src/router.rs", "use crate::dialects::ollama;", &[]);
}

#[test]
fn no_machine_is_named() {
    let path = |folder: &str| format!("see /{folder}/x for it");
    for folder in ["root", "home", "Users", "work"] {
        broken("README.md", &path(folder), &["machine-path"]);
    }
    broken("README.md", "src/home/x and https://example.org/home/x and $HOME/work/x", &[]);
    broken("README.md", "/rooted/x /usr/home", &[]);
}
