use serde_json::{Value, json};
use tokbar_hub::download::{DownloadError, DownloadOptions, Hit, search};

use super::loopback::{Answer, Loopback};

fn answered(status: u16, body: &Value) -> (Result<Vec<Hit>, DownloadError>, Vec<String>) {
    let text = body.to_string().into_bytes();
    let hub = Loopback::start(move |_, _| Answer { status, ..Answer::ok(text.clone()) });
    let options = DownloadOptions { endpoint: hub.endpoint(), ..DownloadOptions::new("/nowhere".into()) };
    let found = search("Qwen 4bit", 5, &options);
    (found, hub.asked().into_iter().map(|asked| asked.path).collect())
}

#[test]
fn mlx_models_are_asked_for_with_sizes_and_downloads() {
    let packed = json!({"parameters": {"U32": 1000, "BF16": 10}, "total": 1010});
    let (found, asked) = answered(
        200,
        &json!([
            {"id": "org/a", "downloads": 7, "safetensors": packed, "gated": false},
            {"id": "org/b", "gated": "manual"},
            {"id": "org/c", "safetensors": {"parameters": {"Q7": 5}}},
            {"id": "../evil", "downloads": 9},
        ]),
    );
    let hit = |id: &str, n_downloads: u64, n_weight_bytes: Option<u64>, is_gated: bool| Hit {
        id: id.to_owned(),
        n_downloads,
        n_weight_bytes,
        is_gated,
    };
    let expected = [hit("org/a", 7, Some(4020), false), hit("org/b", 0, None, true), hit("org/c", 0, None, false)];
    assert_eq!(found.unwrap(), expected);
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("/api/models?search=Qwen%204bit&filter=mlx&sort=downloads"), "{asked:?}");
}

#[test]
fn a_hub_that_does_not_answer_is_an_error_that_says_what_to_do() {
    let (refused, _) = answered(503, &json!([]));
    assert!(matches!(refused, Err(DownloadError::Refused { status: 503, .. })));
    let (garbled, _) = answered(200, &json!({"not": "a list"}));
    assert!(matches!(garbled, Err(DownloadError::BadAnswer { .. })));
    let options =
        DownloadOptions { endpoint: "http://127.0.0.1:1".to_owned(), ..DownloadOptions::new("/nowhere".into()) };
    let error = search("x", 5, &options).unwrap_err();
    assert!(error.to_string().contains("Check the network"), "{error}");
}
