use serde_json::json;

use super::*;
use crate::gguf::kind::Kind;
use crate::gguf::synthetic::tiny;
use crate::safetensors::Dtype;
use crate::shards::{ShardWriter, Slot};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const CONFIG: &str = r#"{"model_type": "llama", "max_position_embeddings": 512}"#;

/// Makes a file with `bytes`, and the folders above it.
fn put(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A checkpoint of one tensor of 32 halves.
fn checkpoint(dir: &Path) {
    put(&dir.join("config.json"), CONFIG);
    put(&dir.join("tokenizer.json"), "{}");
    let slot = Slot { name: "x.weight".to_owned(), dtype: Dtype::F16, shape: vec![4, 8] };
    let mut shard = ShardWriter::create(&dir.join("model.safetensors"), std::slice::from_ref(&slot)).unwrap();
    shard.add(slot);
    shard.finish().unwrap();
}

/// Puts the checkpoint of `files` into a cache as the Hub's clients do, with links from snapshot to blobs.
fn into_cache(cache: &Path, id: &str, files: &Path) {
    let repository = cache.join(format!("models--{}", id.replace('/', "--")));
    let (snapshot, blobs) = (repository.join("snapshots").join(COMMIT), repository.join("blobs"));
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(&blobs).unwrap();
    put(&repository.join("refs/main"), COMMIT);
    for name in children(files) {
        fs::copy(files.join(&name), blobs.join(&name)).unwrap();
        std::os::unix::fs::symlink(Path::new("../../blobs").join(&name), snapshot.join(&name)).unwrap();
    }
}

fn place(owner: Owner, path: &Path) -> Place {
    Place { owner, path: path.to_owned() }
}

/// Names and states of what lies in one place.
fn found(owner: Owner, path: &Path) -> Vec<(String, &'static str)> {
    let shelves = scan(&[place(owner, path)]);
    assert_eq!(shelves[0].access, Access::Present);
    let state = |condition: &Condition| match condition {
        Condition::Ready => "ready",
        Condition::Partial { .. } => "partial",
        Condition::Broken { .. } => "broken",
    };
    shelves[0].models.iter().map(|model| (model.name.clone(), state(&model.condition))).collect()
}

fn one(owner: Owner, path: &Path) -> Model {
    let models = scan(&[place(owner, path)]).remove(0).models;
    assert_eq!(models.len(), 1, "{models:?}");
    models.into_iter().next().unwrap()
}

fn reason(model: &Model) -> &str {
    match &model.condition {
        Condition::Partial { reason } | Condition::Broken { reason } => reason,
        Condition::Ready => panic!("{} is ready", model.name),
    }
}

#[test]
fn the_cache_shows_what_is_whole_and_what_is_not() {
    let (dir, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache = dir.path();
    checkpoint(source.path());
    into_cache(cache, "org/whole", source.path());
    into_cache(cache, "org/dangling", source.path());
    fs::remove_file(cache.join("models--org--dangling/blobs/model.safetensors")).unwrap();
    put(&cache.join("models--org--begun/blobs/aa.incomplete"), [0; 10]);
    put(&cache.join("models--org--empty/refs/main"), COMMIT);
    put(&cache.join("datasets--org--data/blobs/aa"), [0; 10]);
    let expected = [("org/begun", "partial"), ("org/dangling", "partial"), ("org/whole", "ready")];
    assert_eq!(found(Owner::HuggingFace, cache), expected.map(|(name, state)| (name.to_owned(), state)));
    let models = scan(&[place(Owner::HuggingFace, cache)]).remove(0).models;
    let whole = models.iter().find(|model| model.name == "org/whole").unwrap();
    let about = whole.about.as_ref().unwrap();
    assert_eq!((about.family.as_str(), about.n_params, about.n_context), ("llama", 32, Some(512)));
    assert_eq!(whole.n_bytes, n_file_bytes(source.path()));
    let dangling = models.iter().find(|model| model.name == "org/dangling").unwrap();
    assert!(reason(dangling).contains("`model.safetensors`"), "{}", reason(dangling));
}

/// Puts a file into the snapshot of a repository, as a link to a blob named like `blob`.
fn link(cache: &Path, id: &str, (name, blob): (&str, &str), bytes: impl AsRef<[u8]>) {
    let repository = cache.join(format!("models--{}", id.replace('/', "--")));
    put(&repository.join("refs/main"), COMMIT);
    put(&repository.join("blobs").join(blob), bytes);
    let path = repository.join("snapshots").join(COMMIT).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let up = "../".repeat(2 + name.matches('/').count());
    std::os::unix::fs::symlink(Path::new(&up).join("blobs").join(blob), path).unwrap();
}

/// A repository with a model in two packings, one in a folder below, and two GGUF files.
fn several(cache: &Path) {
    let source = tempfile::tempdir().unwrap();
    checkpoint(source.path());
    let weights = fs::read(source.path().join("model.safetensors")).unwrap();
    for folder in ["4bit", "mlx/8bit"] {
        link(cache, "org/all", (&format!("{folder}/config.json"), "shared-config"), CONFIG);
        link(cache, "org/all", (&format!("{folder}/tokenizer.json"), "shared-tokenizer"), "{}");
        let blob = format!("weights-{}", folder.replace('/', "-"));
        link(cache, "org/all", (&format!("{folder}/model.safetensors"), &blob), &weights);
    }
    link(cache, "org/all", ("a-Q8_0.gguf", "a"), tiny("llama", Kind::Q8_0).build());
    link(cache, "org/all", ("UD/b.gguf", "b"), tiny("llama", Kind::Q4_0).build());
    link(cache, "org/all", ("notes/config.json", "notes"), "{}");
}

#[test]
fn a_repository_shows_each_of_its_models() {
    let dir = tempfile::tempdir().unwrap();
    several(dir.path());
    let names = |expected: &[&str]| expected.iter().map(|name| ((*name).to_owned(), "ready")).collect::<Vec<_>>();
    let all = ["org/all/4bit", "org/all/UD/b.gguf", "org/all/a-Q8_0.gguf", "org/all/mlx/8bit"];
    assert_eq!(found(Owner::HuggingFace, dir.path()), names(&all));
    // One goes; what others share stays.
    let models = || scan(&[place(Owner::HuggingFace, dir.path())]).remove(0).models;
    let model = |name: &str| models().into_iter().find(|model| model.name == name).unwrap();
    let repository = dir.path().join("models--org--all");
    let blob = |name: &str| repository.join("blobs").join(name);
    let n_weights = blob("weights-4bit").metadata().unwrap().len();
    let four = model("org/all/4bit");
    assert_eq!((four.n_bytes, remove(&four).unwrap().n_bytes), (n_weights + CONFIG.len() as u64 + 2, n_weights));
    assert_eq!(found(Owner::HuggingFace, dir.path()), names(&all[1..]));
    assert!(blob("shared-config").exists() && !blob("weights-4bit").exists());
    remove(&model("org/all/a-Q8_0.gguf")).unwrap();
    remove(&model("org/all/mlx/8bit")).unwrap();
    assert!(!blob("a").exists() && !blob("shared-config").exists() && blob("b").exists());
    assert_eq!(found(Owner::HuggingFace, dir.path()), names(&["org/all/UD/b.gguf"]));
    remove(&model("org/all/UD/b.gguf")).unwrap();
    assert!(!repository.exists());
}

#[test]
fn parts_of_a_pipeline_are_no_models() {
    let dir = tempfile::tempdir().unwrap();
    several(dir.path());
    link(dir.path(), "org/all", ("model_index.json", "index"), "{}");
    assert!(found(Owner::HuggingFace, dir.path()).iter().all(|(name, _)| name == "org/all"));
}

#[test]
fn a_part_whose_bytes_are_gone_is_incomplete() {
    let dir = tempfile::tempdir().unwrap();
    several(dir.path());
    let blobs = dir.path().join("models--org--all/blobs");
    fs::remove_file(blobs.join("weights-4bit")).unwrap();
    fs::remove_file(blobs.join("b")).unwrap();
    let all = found(Owner::HuggingFace, dir.path());
    let state = |name: &str| all.iter().find(|(other, _)| other == name).unwrap().1;
    assert_eq!((state("org/all/4bit"), state("org/all/UD/b.gguf")), ("partial", "partial"));
    assert_eq!(state("org/all/mlx/8bit"), "ready");
}

#[test]
fn folders_show_checkpoints_and_gguf_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    checkpoint(&root.join("lab/whole"));
    checkpoint(&root.join("lab/cut"));
    let weights = root.join("lab/cut/model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    fs::write(&weights, &bytes[..bytes.len() - 1]).unwrap();
    checkpoint(&root.join("lab/mute"));
    fs::remove_file(root.join("lab/mute/tokenizer.json")).unwrap();
    let index = json!({"weight_map": {"x.weight": "model.safetensors", "y.weight": "model-2.safetensors"}});
    checkpoint(&root.join("lab/half"));
    put(&root.join("lab/half/model.safetensors.index.json"), index.to_string());
    put(&root.join("lab/files/tiny.gguf"), tiny("qwen3", Kind::Q4_0).build());
    put(&root.join("lab/files/mmproj-tiny.gguf"), "eyes");
    let whole = tiny("llama", Kind::F16).build();
    put(&root.join("lab/files/cut.gguf"), &whole[..whole.len() / 2]);
    put(&root.join("a/b/c/d/config.json"), CONFIG);
    let expected = [
        ("lab/cut", "broken"),
        ("lab/files/cut.gguf", "broken"),
        ("lab/files/tiny.gguf", "ready"),
        ("lab/half", "partial"),
        ("lab/mute", "partial"),
        ("lab/whole", "ready"),
    ];
    assert_eq!(found(Owner::LmStudio, root), expected.map(|(name, state)| (name.to_owned(), state)));
    let own = one(Owner::Person, &root.join("lab/whole"));
    assert_eq!((own.name.as_str(), own.path), ("whole", root.join("lab/whole")));
    let models = scan(&[place(Owner::Person, root)]).remove(0).models;
    let gguf = models.iter().find(|model| model.name == "lab/files/tiny.gguf").unwrap();
    let about = gguf.about.as_ref().unwrap();
    assert_eq!(
        (about.family.as_str(), about.quantization.as_deref(), about.n_context),
        ("qwen3", Some("Q4_0"), Some(128))
    );
}

#[test]
fn links_that_go_in_circles_end() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("again")).unwrap();
    checkpoint(&dir.path().join("model"));
    std::os::unix::fs::symlink(dir.path().join("model"), dir.path().join("linked")).unwrap();
    let expected = [("linked", "ready"), ("model", "ready")].map(|(name, state)| (name.to_owned(), state));
    assert_eq!(found(Owner::Person, dir.path()), expected);
}

#[test]
fn ollamas_manifests_name_their_weights() {
    let dir = tempfile::tempdir().unwrap();
    let store = dir.path();
    let (whole, hex) = (tiny("llama", Kind::Q8_0).build(), "a".repeat(64));
    put(&store.join(format!("blobs/sha256-{hex}")), &whole);
    let manifest = |digest: &str, size: usize| {
        let layers = json!([
            {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:00", "size": 1},
            {"mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": size},
        ]);
        json!({"schemaVersion": 2, "layers": layers}).to_string()
    };
    let put_manifest = |path: &str, text: &str| put(&store.join("manifests").join(path), text);
    let digest = format!("sha256:{hex}");
    put_manifest("registry.ollama.ai/library/tiny/latest", &manifest(&digest, whole.len()));
    put_manifest("registry.ollama.ai/someone/tiny/1b", &manifest(&digest, whole.len() + 1));
    put_manifest("hub.example/a/b/c", &manifest(&format!("sha256:{}", "b".repeat(64)), 1));
    put_manifest("registry.ollama.ai/library/evil/latest", &manifest("sha256:../../../etc/passwd", 1));
    put_manifest("registry.ollama.ai/library/text/latest", "no JSON");
    put_manifest("registry.ollama.ai/library/cloud/latest", r#"{"layers": []}"#);
    let expected = [
        ("evil:latest", "broken"),
        ("hub.example/a/b:c", "partial"),
        ("someone/tiny:1b", "partial"),
        ("text:latest", "broken"),
        ("tiny:latest", "ready"),
    ];
    assert_eq!(found(Owner::Ollama, store), expected.map(|(name, state)| (name.to_owned(), state)));
    let models = scan(&[place(Owner::Ollama, store)]).remove(0).models;
    let tiny = models.iter().find(|model| model.name == "tiny:latest").unwrap();
    assert_eq!((tiny.form, tiny.n_bytes), (Form::Gguf, whole.len() as u64));
    assert!(matches!(remove(tiny), Err(RemoveError::Ollamas { name }) if name == "tiny:latest"));
    assert!(tiny.path.exists());
}

#[test]
fn a_drive_that_is_not_there_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let places = [place(Owner::Person, &dir.path().join("drive")), place(Owner::Person, dir.path())];
    let shelves = scan(&places);
    assert_eq!((&shelves[0].access, &shelves[1].access), (&Access::Absent, &Access::Present));
    put(&dir.path().join("file"), "");
    assert!(matches!(scan(&[place(Owner::Person, &dir.path().join("file"))])[0].access, Access::Refused { .. }));
}

#[test]
fn removing_takes_what_belongs_to_the_model_and_no_more() {
    let (dir, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cache = dir.path().join("hub");
    checkpoint(source.path());
    into_cache(&cache, "org/a", source.path());
    into_cache(&cache, "org/b", source.path());
    let models = scan(&[place(Owner::HuggingFace, &cache)]).remove(0).models;
    let removed = remove(&models[0]).unwrap();
    assert_eq!((removed.path, removed.n_bytes), (cache.join("models--org--a"), n_file_bytes(source.path())));
    assert_eq!(children(&cache), ["models--org--b"]);

    let folder = dir.path().join("folder");
    checkpoint(&folder);
    put(&folder.join("notes.txt"), "mine");
    let n_bytes = n_file_bytes(&folder) - 4;
    assert_eq!(remove(&one(Owner::Person, &folder)).unwrap().n_bytes, n_bytes);
    assert_eq!(children(&folder), ["notes.txt"]);

    let file = dir.path().join("files/tiny.gguf");
    put(&file, tiny("llama", Kind::F16).build());
    put(&dir.path().join("files/other.txt"), "mine");
    remove(&one(Owner::LmStudio, &dir.path().join("files"))).unwrap();
    assert_eq!(children(&dir.path().join("files")), ["other.txt"]);
}

#[test]
fn a_model_that_is_being_downloaded_stays() {
    let (cache, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    checkpoint(source.path());
    into_cache(cache.path(), "org/a", source.path());
    put(&cache.path().join(".locks/models--org--a/aa.lock"), "");
    let lock = fs::File::create(cache.path().join(".locks/models--org--a/aa.lock")).unwrap();
    lock.lock().unwrap();
    let model = one(Owner::HuggingFace, cache.path());
    assert!(matches!(remove(&model), Err(RemoveError::Busy { .. })));
    assert_eq!(one(Owner::HuggingFace, cache.path()).condition, Condition::Ready);
    drop(lock);
    remove(&model).unwrap();
}

#[test]
fn the_environment_says_where_to_look() {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    let plain = Environment { home: Some(home.path().to_owned()), ..Environment::default() };
    let paths = |environment: &Environment| -> Vec<PathBuf> {
        usual_places(environment).into_iter().map(|place| place.path).collect()
    };
    let usual = [".cache/huggingface/hub", ".lmstudio/models", ".ollama/models"];
    assert_eq!(paths(&plain), usual.map(at));
    put(&at(".lmstudio/settings.json"), json!({"downloadsFolder": "/drive/models"}).to_string());
    fs::create_dir_all(at(".cache/lm-studio/models")).unwrap();
    let moved = Environment {
        hf_hub_cache: Some("/hub".into()),
        ollama_models: Some("/ollama".into()),
        added: vec!["/more".into(), "/hub".into()],
        ..plain
    };
    let early = at(".cache/lm-studio/models");
    assert_eq!(paths(&moved), ["/hub".into(), "/drive/models".into(), early, "/ollama".into(), PathBuf::from("/more")]);
    put(&at(".lmstudio/settings.json"), "no JSON");
    assert!(paths(&moved).contains(&at(".lmstudio/models")));
}
