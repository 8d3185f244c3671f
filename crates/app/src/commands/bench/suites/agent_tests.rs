use super::*;

#[test]
fn without_tools_a_conversation_keeps_its_words_and_order() {
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let mut conversation = Conversation { messages: vec![message("user", "read")], tools: tools(), is_plain: false };
    let calls = json!([{"id": "call_1"}]);
    conversation.messages.push(json!({"role": "assistant", "content": "I read", "tool_calls": calls}));
    conversation.messages.push(json!({"role": "tool", "tool_call_id": "call_1", "content": "text"}));
    conversation.speak_plainly();
    assert_eq!(
        conversation.messages,
        [message("user", "read"), message("assistant", "I read"), message("user", "text")]
    );
    assert_eq!(conversation.tools, Value::Null);
}
