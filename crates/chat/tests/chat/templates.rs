//! Templates render as transformers renders them.

use tokbar_chat::{ChatPrompt, ChatTemplate, TemplateError};

use crate::fixtures;

#[test]
fn templates_render_as_transformers_does() {
    let fixture = fixtures::read("templates.json");
    let now = fixtures::clock(&fixture["now"]);
    for case in fixture["cases"].as_array().unwrap() {
        let source = case["template"].as_str().unwrap();
        let template = ChatTemplate::from_source(source, fixtures::object(&case["variables"])).unwrap();
        let (messages, tools) = (fixtures::messages(&case["messages"]), fixtures::tools(&case["tools"]));
        let prompt = ChatPrompt { messages: &messages, tools: &tools, template_kwargs: &serde_json::Map::new() };
        let name = &case["name"];
        match (template.render(&prompt, &now), case["error"].as_str()) {
            (Ok(text), None) => assert_eq!(text, case["rendered"], "{name}"),
            (Err(TemplateError::Raised { message }), Some(expected)) => assert_eq!(message, expected, "{name}"),
            (result, expected) => panic!("{name}: {result:?}, expected the error {expected:?}"),
        }
    }
}
