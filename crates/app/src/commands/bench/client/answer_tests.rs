use std::time::Duration;

use super::*;

fn answer(times_ms: &[u64], n_output: Option<usize>) -> Answer {
    let mut answer = Answer::new(Instant::now());
    answer.usage = Usage { n_prompt: Some(110), n_cached: Some(10), n_output, ..Usage::default() };
    answer.times = times_ms.iter().map(|&ms| answer.sent + Duration::from_millis(ms)).collect();
    answer
}

#[test]
fn rates_use_the_servers_count_where_there_is_one() {
    let counted = answer(&[500, 750, 1000], Some(9));
    assert_eq!((counted.n_tokens(), counted.decode_tps(), counted.prefill_tps()), (9, Some(16.0), Some(200.0)));
    let uncounted = answer(&[500, 750, 1000], None);
    assert_eq!((uncounted.n_tokens(), uncounted.decode_tps()), (3, Some(4.0)));
    assert_eq!(uncounted.itls_ms(), [250.0, 250.0]);
    assert_eq!(answer(&[500], Some(1)).decode_tps(), None);
}

#[test]
fn the_first_text_is_the_first_token_and_roles_are_none() {
    let mut answer = Answer::new(Instant::now());
    let mut take = |data: &str| answer.take(Chunk::read(data).expect(data)).expect("short").is_some();
    assert!(!take(r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#));
    assert!(take(r#"{"choices":[{"delta":{"reasoning_content":"Hm"}}]}"#));
    assert!(take(r#"{"choices":[{"delta":{"content":"A"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#));
    assert!(!take(r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#));
    assert!(!take(r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#));
    assert_eq!((answer.content.as_str(), answer.times.len(), answer.n_tokens()), ("A", 2, 2));
    assert_eq!(answer.finish.as_deref(), Some("length"));
}

#[test]
fn an_answer_of_nothing_has_its_end_as_its_first_token() {
    let mut answer = Answer::new(Instant::now());
    let chunk = Chunk::read(r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#).expect("a chunk");
    assert!(answer.take(chunk).expect("short").is_some());
    assert_eq!((answer.times.len(), answer.content.as_str()), (1, ""));
}
