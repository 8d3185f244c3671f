use super::*;

fn check(data: &str, text: &str, content: &str) -> Chunk {
    let chunk = Chunk::read(data).expect(data);
    assert_eq!((chunk.text.as_str(), chunk.content.as_str()), (text, content), "{data}");
    chunk
}

#[test]
fn every_kind_of_text_counts_and_the_answer_is_told_apart() {
    check(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, "", "");
    check(r#"{"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}"#, "Hi", "Hi");
    check(r#"{"choices":[{"delta":{"content":null,"reasoning_content":"Hm","reasoning":"Hm"}}]}"#, "Hm", "");
    check(r#"{"choices":[{"delta":{"reasoning":"Hm"}}]}"#, "Hm", "");
    check(
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}"#,
        "f{}",
        "",
    );
    check(r#"{"choices":[]}"#, "", "");
}

#[test]
fn counts_are_found_where_servers_put_them() {
    let openai = check(
        r#"{"choices":[],"usage":{"prompt_tokens":32,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":8},
            "completion_tokens_details":{"accepted_prediction_tokens":5,"rejected_prediction_tokens":2}}}"#,
        "",
        "",
    );
    let expected =
        Usage { n_prompt: Some(32), n_cached: Some(8), n_output: Some(20), n_accepted: Some(5), n_rejected: Some(2) };
    assert_eq!(openai.usage, Some(expected));
    let llama = check(
        r#"{"choices":[{"finish_reason":"length","delta":{}}],"timings":{"draft_n":9,"draft_n_accepted":6}}"#,
        "",
        "",
    );
    assert_eq!(llama.usage, Some(Usage { n_accepted: Some(6), n_rejected: Some(3), ..Usage::default() }));
    assert_eq!(llama.finish.as_deref(), Some("length"));
    assert_eq!(check(r#"{"choices":[],"usage":null}"#, "", "").usage, None);
}

#[test]
fn errors_are_told_in_the_servers_words() {
    for (data, part) in [
        (r#"{"error":{"message":"out of memory","type":"x"}}"#, "out of memory"),
        (r#"{"error":"too long"}"#, "too long"),
        ("<html>", "no JSON: <html>"),
    ] {
        let error = format!("{:#}", Chunk::read(data).expect_err(data));
        assert!(error.contains(part), "{error}");
    }
}
