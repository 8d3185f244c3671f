use serde_json::json;
use tokbar_server::control::Word;

use super::*;

fn call(name: &str) -> ToolCall {
    ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments: json!({}) }
}

#[test]
fn the_file_is_checked() {
    let good = br#"{"mcpServers": {
        "files": {"type": "stdio", "command": "x", "args": ["-a"], "env": {"A": "b"}, "alwaysAllow": []},
        "web": {"url": "http://localhost:1/mcp", "headers": {"Authorization": "Bearer x"}},
        "off": {"command": "y", "disabled": true}}}"#;
    let names: Vec<String> = config::parse(good).unwrap().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["files", "web"]);
    let many: String = (0..40).map(|n| format!("\"s{n}\": {{\"command\": \"x\"}},")).collect();
    for bad in [
        "{}",
        "[",
        r#"{"mcpServers": {}}"#,
        r#"{"mcpServers": {"a b": {"command": "x"}}}"#,
        r#"{"mcpServers": {"a__b": {"command": "x"}}}"#,
        r#"{"mcpServers": {"a": {}}}"#,
        r#"{"mcpServers": {"a": {"command": "x", "url": "http://x"}}}"#,
        r#"{"mcpServers": {"a": {"url": "file:///x"}}}"#,
        &format!(r#"{{"mcpServers": {{{many}"z": {{"command": "x"}}}}}}"#),
    ] {
        assert!(config::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_run_only_with_somebodys_word() {
    let approvals = Arc::new(Approvals::new(vec!["files__read".to_owned(), "web__*".to_owned()]));
    assert!(approvals.is_allowed(&call("files__read")).await);
    assert!(approvals.is_allowed(&call("web__any")).await);
    for (word, is_allowed) in [(Word::Once, true), (Word::Never, false), (Word::Always, true)] {
        let asked = {
            let approvals = approvals.clone();
            async move { approvals.is_allowed(&call("files__write")).await }
        };
        let answered = async {
            while approvals.waiting().is_empty() {
                tokio::task::yield_now().await;
            }
            let waiting = approvals.waiting().remove(0);
            assert_eq!(waiting.tool, "files__write");
            approvals.decide(waiting.id, word).unwrap();
            assert!(approvals.decide(waiting.id, word).is_err(), "it waits no more");
        };
        assert_eq!(tokio::join!(asked, answered).0, is_allowed, "{word:?}");
    }
    assert!(approvals.is_allowed(&call("files__write")).await, "always means from now on");
    // Nobody says anything: time goes by, and it does not run.
    assert!(!approvals.is_allowed(&call("files__delete")).await);
    assert!(approvals.waiting().is_empty());
}

#[test]
fn names_that_models_cannot_write_are_left_out() {
    let tool = |name: &str| Tool { name: name.to_owned(), description: None, parameters: json!({}) };
    assert_eq!(named("files", tool("read")).unwrap().name, "files__read");
    assert!(named("files", tool("read it")).is_none());
    assert!(named("files", tool(&"x".repeat(60))).is_none());
}
