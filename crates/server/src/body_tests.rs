use super::*;

#[test]
fn depth_is_bounded() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(parse(nested(127).as_bytes()).is_ok());
    assert!(matches!(parse(nested(128).as_bytes()), Err(ApiError::Json { .. })));
    assert!(matches!(parse(nested(1_000_000).as_bytes()), Err(ApiError::Json { .. })));
}

#[test]
fn content_types_are_json_or_refused() {
    let cases = [
        ("application/json", true),
        ("Application/JSON ; charset=utf-8", true),
        ("application/merge-patch+json", true),
        ("application/jsonp", false),
        ("text/plain", false),
        ("text/json", false),
        ("application/x-www-form-urlencoded", false),
        ("", false),
    ];
    for (given, is_json) in cases {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, given.parse().unwrap());
        assert_eq!(check_content_type(&headers).is_ok(), is_json, "{given:?}");
    }
    assert!(check_content_type(&HeaderMap::new()).is_err());
}
