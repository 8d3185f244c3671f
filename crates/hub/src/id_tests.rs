use super::*;

#[test]
fn names_are_taken_apart() {
    let check = |text: &str, repository: &str, inside: Option<&str>| {
        assert_eq!(HubId::parse(text), Some(HubId { repository, inside }), "{text}");
    };
    check("org/name", "org/name", None);
    check("LiquidAI/LFM2.5-2.6B-MLX/4bit", "LiquidAI/LFM2.5-2.6B-MLX", Some("4bit"));
    check("org/name/UD-Q4_K_XL/m--a-00001-of-00002.gguf", "org/name", Some("UD-Q4_K_XL/m--a-00001-of-00002.gguf"));
    assert_eq!(HubId::parse("org/name/a.gguf").and_then(|id| id.gguf()), Some("a.gguf"));
    assert_eq!(HubId::parse("org/name/4bit").and_then(|id| id.gguf()), None);
    assert!(is_repository("org/name") && !is_repository("org/name/4bit") && !is_repository("name"));
}

#[test]
fn names_that_could_lead_elsewhere_are_none() {
    let long = format!("org/name/{}", "x".repeat(300));
    let hostile = [
        "name",
        "../up",
        "org/..",
        "org/a--b",
        "/org/name",
        "org/",
        "org/na me",
        "./org/name",
        "org/name/",
        "org/name/..",
        "org/name/../x",
        "org/name//x",
        "org/name/.git",
        "org/name/a\\b",
        "org/name/-x",
        "org/name/a/b/c/d/e",
        "",
        &long,
    ];
    for text in hostile {
        assert_eq!(HubId::parse(text), None, "{text}");
    }
}
