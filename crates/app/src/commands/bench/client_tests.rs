use super::*;

fn endpoint(url: &str) -> Result<Endpoint> {
    Endpoint::new(url, None, Duration::from_secs(1))
}

#[test]
fn urls_may_leave_out_the_version() {
    for (url, base_url) in [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("http://127.0.0.1:1/openai/v2", "http://127.0.0.1:1/openai/v2"),
    ] {
        assert_eq!(endpoint(url).expect(url).base_url, base_url);
    }
}

#[test]
fn what_is_no_url_of_a_server_is_refused() {
    for url in ["localhost:8000", "/v1", "ftp://localhost/", "http:// /"] {
        let error = format!("{:#}", endpoint(url).expect_err(url));
        assert!(error.contains("is no URL"), "{error}");
    }
}

#[test]
fn calls_are_greedy_and_ask_for_what_the_server_takes() {
    let mut endpoint = endpoint("http://localhost:1").expect("a URL");
    endpoint.model = "m".to_owned();
    let call = Call::new(json!([{"role": "user", "content": "x"}]), 7);
    let body = endpoint.body(&call);
    assert_eq!((&body["model"], &body["max_tokens"], &body["temperature"]), (&json!("m"), &json!(7), &json!(0)));
    assert_eq!((&body["ignore_eos"], body.get("tools")), (&json!(true), None));
    let natural = Call { ending: Ending::Natural, ..call.clone() };
    assert_eq!(endpoint.body(&natural).get("ignore_eos"), None);
    endpoint.asks_past_eos = false;
    assert_eq!(endpoint.body(&call).get("ignore_eos"), None);
}
