use serde_json::json;

use super::{base64, document};

#[test]
fn words_are_made_of_what_has_the_lowest_rank() {
    let vocab = ["YQ==", "Yg==", "Yw==", "YmM=", "YWI=", "YWJj"].map(|bytes| json!({"token_bytes": bytes}));
    let file = json!({"config": {"pattern": "\\S+", "default_vocab_size": 9, "default_num_special_tokens": 3},
        "vocab": vocab});
    let document = document(file.to_string().as_bytes()).unwrap();
    assert_eq!(document["model"]["merges"], json!([["b", "c"], ["a", "b"], ["a", "bc"]]));
    assert_eq!(document["model"]["vocab"]["abc"], 8);
    assert_eq!(document["added_tokens"][1]["content"], "<s>");
}

#[test]
fn damaged_files_are_told() {
    assert_eq!(base64("/+8="), Some(vec![0xff, 0xef]));
    assert_eq!(base64("a*"), None);
    let config = |n: u64| json!({"config": {"pattern": "a", "default_vocab_size": n, "default_num_special_tokens": 3}, "vocab": []});
    for (file, part) in
        [("{}".to_owned(), "config"), (config(1 << 40).to_string(), "may have"), (config(2).to_string(), "special")]
    {
        assert!(document(file.as_bytes()).unwrap_err().contains(part), "{file}");
    }
}
