use super::*;

#[test]
fn versions_are_those_of_the_client() {
    let version = |name: &str| ROWS.iter().find(|row| row.name == name).unwrap().version();
    assert_eq!(version("aider"), "0.86.2");
    assert_eq!(version("anthropic-node"), "1.15.0");
    assert_eq!(version("openai-python"), "3.57.0");
    assert_eq!(version("ollama-python"), "0.6.3");
    assert_eq!(version("ai-sdk"), "6.0.326");
    assert_eq!(version("pi"), "0.73.1");
    assert!(ROWS.iter().map(|row| row.name).is_sorted());
}
