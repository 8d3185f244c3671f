use serde_json::json;

use super::*;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A listing of files of one byte each, all in Git.
fn listing(names: &[&str]) -> Result<Listing, DownloadError> {
    listing_for("a/b", names)
}

fn listing_for(id: &str, names: &[&str]) -> Result<Listing, DownloadError> {
    let sibling = |name: &&str| json!({"rfilename": name, "size": 1, "blobId": COMMIT});
    let siblings: Vec<Value> = names.iter().map(sibling).collect();
    parse_for(id, &json!({"sha": COMMIT, "siblings": siblings}))
}

fn parse(answer: &Value) -> Result<Listing, DownloadError> {
    parse_for("a/b", answer)
}

fn parse_for(id: &str, answer: &Value) -> Result<Listing, DownloadError> {
    Listing::parse(answer.to_string().as_bytes(), "http://hub", &HubId::parse(id).unwrap())
}

#[test]
fn a_repository_of_several_models_gives_the_one_that_is_named() {
    let names = [
        "README.md",
        "4bit/config.json",
        "4bit/model.safetensors",
        "4bit/tokenizer.json",
        "4bit/deep/config.json",
        "8bit/config.json",
        "8bit/x.safetensors",
        "8bit/model.safetensors.index.json",
        "a-Q4_K_M.gguf",
        "a-Q8_0.gguf",
        "mmproj-a.gguf",
        "UD/b.gguf",
        "big-00001-of-00002.gguf",
    ];
    let check = |id: &str, index: Option<Value>, expected: &[&str]| {
        let listing = listing_for(id, &names).unwrap();
        assert_eq!(listing.index().is_some(), index.is_some(), "{id}");
        let needed = listing.needed(id, index.as_ref()).unwrap();
        assert_eq!(needed.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), expected, "{id}");
    };
    check("a/b/4bit", None, &["4bit/config.json", "4bit/tokenizer.json", "4bit/model.safetensors"]);
    let index = json!({"weight_map": {"x": "x.safetensors"}});
    let split = ["8bit/config.json", "8bit/model.safetensors.index.json", "8bit/x.safetensors"];
    check("a/b/8bit", Some(index), &split);
    check("a/b/a-Q8_0.gguf", None, &["a-Q8_0.gguf"]);
    check("a/b/UD/b.gguf", None, &["UD/b.gguf"]);
    check("a/b/UD", None, &["UD/b.gguf"]);
    let told = "Name what is in the repository: `a/b/4bit`, `a/b/8bit`, `a/b/UD/b.gguf`, `a/b/a-Q4_K_M.gguf`, `a/b/a-Q8_0.gguf`.";
    for id in
        ["a/b", "a/b/2bit", "a/b/a-Q5_K_M.gguf", "a/b/4bit/deep/er", "a/b/big-00001-of-00002.gguf", "a/b/mmproj-a.gguf"]
    {
        let error = listing_for(id, &names).unwrap().needed(id, None).unwrap_err().to_string();
        assert!(error.contains(told), "{id}: {error}");
    }
    let only = ["config.yaml", "a.gguf", "mmproj-a.gguf"];
    assert_eq!(listing(&only).unwrap().needed("a/b", None).unwrap()[0].name, "a.gguf");
}

#[test]
fn a_model_needs_documents_and_its_weights() {
    let check = |names: &[&str], index: Option<Value>, expected: &[&str]| {
        let needed = listing(names).unwrap().needed("a/b", index.as_ref()).unwrap();
        assert_eq!(needed.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), expected);
    };
    let noise = [
        "README.md",
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
        "model.pt",
        "modeling.py",
        ".gitattributes",
        ".hidden.json",
        "onnx/config.json",
        "onnx\\config.json",
        "original/model.safetensors",
        "vocab.txt",
    ];
    let named =
        ["config.json", "chat_template.jinja", "tokenizer.model", "model.safetensors", "consolidated.safetensors"];
    let wanted = ["config.json", "chat_template.jinja", "tokenizer.model", "model.safetensors"];
    check(&[&noise[..], &named].concat(), None, &wanted);
    let index = json!({"weight_map": {"x": "b.safetensors", "y": "a.safetensors", "z": "b.safetensors"}});
    let split = ["config.json", "a.safetensors", "b.safetensors", "model-old.safetensors"];
    check(&split, Some(index), &["config.json", "a.safetensors", "b.safetensors"]);
}

#[test]
fn a_repository_without_a_model_is_refused_with_advice() {
    let check = |names: &[&str], index: Option<Value>, expected: &str| {
        let error = listing(names).unwrap().needed("a/b", index.as_ref()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&["model.safetensors"], None, "no config.json");
    check(&["config.json", "m.gguf"], None, "Name what is in the repository: `a/b/m.gguf`.");
    check(&["config.json", "pytorch_model.bin"], None, "look for a safetensors version");
    check(&["config.json", "adapters.safetensors"], None, "Choose a model in safetensors format");
    for shard in ["../x.safetensors", "absent.safetensors", "config.json"] {
        check(&["config.json"], Some(json!({"weight_map": {"x": shard}})), &format!("{shard:?}"));
    }
    check(&["config.json", "model.safetensors"], Some(json!([1])), "no model*.safetensors");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let hostile =
        ["../x.json", "/etc/x.json", "a/../../x.json", "..\\x.json", "a\\..\\x.json", "x\n.json", "x\0.json", ""];
    for name in hostile {
        assert!(matches!(listing(&["config.json", name]), Err(DownloadError::BadName { .. })), "{name:?}");
    }
    let long = format!("{}.json", "x".repeat(300));
    assert!(listing(&["config.json", "model.safetensors", &long]).unwrap().needed("a/b", None).unwrap().len() == 2);
}

#[test]
fn answers_without_what_a_download_needs_are_refused() {
    let with = |sibling: Value| json!({"sha": COMMIT, "siblings": [sibling]});
    let lfs = |hash: &str| json!({"rfilename": "m.safetensors", "size": 1, "lfs": {"sha256": hash, "size": 1}});
    let file = |size: Value, hash: &str| json!({"rfilename": "c.json", "size": size, "blobId": hash});
    let check = |answer: Value, expected: &str| match parse(&answer) {
        Err(error @ DownloadError::BadAnswer { .. }) => assert!(error.to_string().contains(expected), "{error}"),
        other => panic!("{answer}: {other:?}"),
    };
    check(json!([]), "invalid length");
    check(json!({"siblings": []}), "missing field `sha`");
    check(json!({"sha": "main"}), "names no commit");
    check(json!({"sha": "../../../../../../../../../../etc/passwd"}), "names no commit");
    check(with(json!({"rfilename": "c.json"})), "no size or hash of `c.json`");
    check(with(file(json!(1), "../../x")), "no size or hash");
    check(with(file(json!(-1), COMMIT)), "invalid value");
    check(with(file(json!(1_u64 << 40), COMMIT)), "too many for its kind");
    check(with(lfs(COMMIT)), "no size or hash");
    check(with(lfs(&"A".repeat(64))), "no size or hash");
    let twice = [file(json!(1), COMMIT), file(json!(1), COMMIT)];
    check(json!({"sha": COMMIT, "siblings": twice}), "lists `c.json` twice");
    let many: Vec<Value> =
        (0..=N_FILES_MAX).map(|idx| json!({"rfilename": format!("{idx}.json"), "size": 1, "blobId": COMMIT})).collect();
    check(json!({"sha": COMMIT, "siblings": many}), "lists 10001 files");
}
