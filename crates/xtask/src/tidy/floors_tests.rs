use super::{Edge, check};

#[test]
fn a_crate_uses_lower_floors_and_its_own_subject() {
    let check = |from: &str, to: &str, is_dev: bool, expected: Option<&str>| {
        let findings = check(&[Edge { from: from.to_owned(), to: to.to_owned(), is_dev }]);
        let details: Vec<&str> = findings.iter().map(|finding| finding.detail.as_str()).collect();
        assert_eq!(details.first().copied(), expected, "{from} -> {to}");
    };
    check("tokbar-server", "tokbar-engine", false, None);
    check("tokbar-engine", "serde", false, None);
    check("tokbar-models", "mlx-rs", false, None);
    check("tokbar-engine", "tokbar-chat", false, Some("is on floor 1 and uses tokbar-chat on floor 1"));
    check("tokbar-chat", "tokbar-server", false, Some("is on floor 1 and uses tokbar-server on floor 2"));
    check("tokbar-hub", "tokbar-app", false, Some("is on floor 1 and uses tokbar-app on floor 3"));
    check("tokbar-hub", "tokbar-chat", true, None);
    check("xtask", "tokbar-hub", false, Some("is on floor 0 and uses tokbar-hub on floor 1"));
    check("tokbar-server", "mlx-rs", false, Some("must not know MLX, but uses mlx-rs"));
    check("tokbar-hub", "tokenizers", true, None);
    check("tokbar-engine", "tokenizers", false, Some("must not know text and tokens, but uses tokenizers"));
    check("tokbar-hub", "axum", false, Some("must not know HTTP servers, but uses axum"));
    check("tokbar-app", "tauri", false, Some("must not know windows and trays, but uses tauri"));
    check("tokbar-new", "serde", false, Some("has no floor: add it to FLOORS"));
}
