use super::*;

#[test]
fn what_was_meant_is_found() {
    let cases = [
        ("/v1/chat/completions/", Some("/v1/chat/completions")),
        ("//v1/chat/completions", Some("/v1/chat/completions")),
        ("/v1/v1/chat/completions", Some("/v1/chat/completions")),
        ("/V1/Models", Some("/v1/models")),
        ("/openai/v1/models", Some("/v1/models")),
        ("/chat/completions", Some("/v1/chat/completions")),
        ("/completions", Some("/v1/completions")),
        ("/messages", Some("/v1/messages")),
        ("/v1/api/chat", Some("/api/chat")),
        ("/v1/messages/count_tokens/", Some("/v1/messages/count_tokens")),
        ("/show", Some("/api/show")),
        ("/health/", Some("/health")),
        ("/", None),
        ("//", None),
        ("", None),
        ("*", None),
        ("/v1", None),
        ("/nothing/like/it", None),
        ("/v1/chat/completions/more", None),
    ];
    for (path, expected) in cases {
        assert_eq!(endpoint(path), expected, "{path:?}");
    }
}
