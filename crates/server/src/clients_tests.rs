use axum::http::HeaderValue;

use super::*;

fn check(agent: &str, expected: &str) {
    let mut headers = HeaderMap::new();
    if !agent.is_empty() {
        headers.insert(header::USER_AGENT, HeaderValue::from_str(agent).unwrap());
    }
    assert_eq!(client(&headers), expected, "{agent:?}");
}

#[test]
fn clients_are_called_as_people_know_them() {
    check("claude-cli/2.0.1 (external, cli)", "Claude Code");
    check("OpenAI/Python 2.1.0", "OpenAI SDK for Python");
    check("curl/8.5.0", "curl");
    check("my-agent/1.0 (linux)", "my-agent");
    check("", "unknown");
    check("/", "unknown");
    check(&"x".repeat(300), &"x".repeat(40));
}
