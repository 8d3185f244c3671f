use super::*;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// Makes a file with `text`, and the folders above it.
fn put(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_cache_is_where_hugging_face_puts_it() {
    let check = |cache: Option<&str>, hf_home: Option<&str>, home: Option<&str>, expected: Option<&str>| {
        let found = cache_dir(cache.map(Into::into), hf_home.map(Into::into), home.map(Into::into));
        assert_eq!(found, expected.map(PathBuf::from));
    };
    check(Some("/c"), Some("/h"), Some("/u"), Some("/c"));
    check(Some(""), Some("/h"), Some("/u"), Some("/h/hub"));
    check(None, None, Some("/u"), Some("/u/.cache/huggingface/hub"));
    check(None, None, None, None);
}

#[test]
fn paths_come_before_ids() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    put(dir, "folder/config.json", "{}");
    put(dir, "m.bin", "GGUF....");
    put(dir, "one/a.gguf", "GGUF....");
    put(dir, "two/a.gguf", "GGUF....");
    put(dir, "two/b.gguf", "GGUF....");
    put(dir, "text.gguf", "not it");
    fs::create_dir(dir.join("empty")).unwrap();
    let at = |name: &str| resolve(dir.join(name).to_str().unwrap(), None);
    assert_eq!(at("folder"), Ok(Source::Folder(dir.join("folder"))));
    assert_eq!(at("m.bin"), Ok(Source::Gguf(dir.join("m.bin"))));
    assert_eq!(at("one"), Ok(Source::Gguf(dir.join("one/a.gguf"))));
    let names = "a.gguf, b.gguf".to_owned();
    assert_eq!(at("two"), Err(ResolveError::SeveralGguf { path: dir.join("two"), names }));
    for name in ["text.gguf", "empty"] {
        assert_eq!(at(name), Err(ResolveError::NotAModel { path: dir.join(name) }));
    }
    assert_eq!(at("absent"), Err(ResolveError::NoSuchPath { path: dir.join("absent") }));
}

#[test]
fn ids_are_found_in_the_cache() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    put(cache, "models--org--named/refs/main", &format!("{COMMIT}\n"));
    put(cache, &format!("models--org--named/snapshots/{COMMIT}/config.json"), "{}");
    put(cache, "models--org--named/snapshots/other/config.json", "{}");
    put(cache, "models--org--only/snapshots/abc/m.gguf", "GGUF....");
    put(cache, "models--org--partial/refs/main", COMMIT);
    put(cache, "models--org--escape/refs/main", "../../models--org--named/snapshots/other");
    put(cache, "models--org--bare/snapshots/abc/readme.md", "");
    put(cache, "models--org--many/refs/main", COMMIT);
    put(cache, &format!("models--org--many/snapshots/{COMMIT}/4bit/config.json"), "{}");
    put(cache, &format!("models--org--many/snapshots/{COMMIT}/a.gguf"), "GGUF....");
    put(cache, &format!("models--org--many/snapshots/{COMMIT}/b.gguf"), "GGUF....");
    put(cache, "models--org--many/snapshots/other/8bit/config.json", "{}");
    let find = |id: &str| resolve(id, Some(cache));
    let named = cache.join(format!("models--org--named/snapshots/{COMMIT}"));
    assert_eq!(find("org/named"), Ok(Source::Folder(named)));
    assert_eq!(find("org/only"), Ok(Source::Gguf(cache.join("models--org--only/snapshots/abc/m.gguf"))));
    for id in ["org/partial", "org/escape", "org/bare"] {
        assert_eq!(find(id), Err(ResolveError::Incomplete { id: id.to_owned(), cache: cache.to_owned() }));
    }
    let many = cache.join("models--org--many/snapshots");
    assert_eq!(find("org/many/4bit"), Ok(Source::Folder(many.join(COMMIT).join("4bit"))));
    assert_eq!(find("org/many/8bit"), Ok(Source::Folder(many.join("other/8bit"))), "of an earlier commit");
    assert_eq!(find("org/many/b.gguf"), Ok(Source::Gguf(many.join(COMMIT).join("b.gguf"))));
    assert!(matches!(find("org/many"), Err(ResolveError::SeveralGguf { .. })));
    for id in ["org/none", "org/many/2bit", "org/none/4bit"] {
        assert_eq!(find(id), Err(ResolveError::NotInCache { id: id.to_owned(), cache: cache.to_owned() }));
    }
}

#[test]
fn what_cannot_be_an_id_is_a_missing_path() {
    let cache = tempfile::tempdir().unwrap();
    for model in ["name", "../up", "org/..", "org/a--b", "/org/name", "org/", "org/na me", "./org/name"] {
        let result = resolve(model, Some(cache.path()));
        assert_eq!(result, Err(ResolveError::NoSuchPath { path: model.into() }), "{model}");
    }
}
