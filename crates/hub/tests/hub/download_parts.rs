//! Repositories that hold several models, in folders or as GGUF files.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::download::{DownloadError, download};
use tokbar_hub::resolve::{ResolveError, Source, resolve};

use super::repository::{COMMIT, ID, Repository, weights};
use super::testbed::{Testbed, names};

/// Two packings in folders, one of them with a folder inside, and two GGUF files; nothing at the top.
pub fn several() -> Repository {
    let mut repository = Repository::new();
    repository.files.retain(|(name, _)| name == "README.md");
    repository
        .with("4bit/config.json", br#"{"model_type": "llama"}"#)
        .with("4bit/tokenizer.json", b"{}")
        .with("4bit/model.safetensors", &weights(1000))
        .with("mlx/8bit/config.json", br#"{"model_type": "llama"}"#)
        .with("mlx/8bit/tokenizer.json", b"{}")
        .with("mlx/8bit/model.safetensors", &weights(2000))
        .with("a-Q4_0.gguf", b"GGUF of four bits")
        .with("a-Q8_0.gguf", b"GGUF of eight bits")
}

fn get(bed: &Testbed, inside: &str) -> Result<PathBuf, DownloadError> {
    download(&format!("{ID}{inside}"), &bed.options, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn each_model_of_a_repository_comes_by_itself() {
    let repository = several();
    let bed = Testbed::serving(&repository);
    let find = |inside: &str| resolve(&format!("{ID}{inside}"), Some(bed.cache.path()));
    let snapshot = bed.dir().join("snapshots").join(COMMIT);
    assert_eq!(get(&bed, "/4bit").unwrap(), snapshot.join("4bit"));
    assert_eq!(find("/4bit"), Ok(Source::Folder(snapshot.join("4bit"))));
    assert_eq!(names(&snapshot), ["4bit"]);
    assert_eq!(Checkpoint::open(&snapshot.join("4bit")).unwrap().n_params, 1000);
    assert!(matches!(find("/mlx/8bit"), Err(ResolveError::NotInCache { .. })));
    bed.hub.asked();
    get(&bed, "/mlx/8bit").unwrap();
    let fetched: Vec<String> = bed.hub.asked().into_iter().map(|asked| asked.path).collect();
    assert_eq!(fetched.len(), 2, "the listing and the weights; the documents are those of 4bit: {fetched:?}");
    assert_eq!(get(&bed, "/a-Q8_0.gguf").unwrap(), snapshot.join("a-Q8_0.gguf"));
    assert_eq!(find("/a-Q8_0.gguf"), Ok(Source::Gguf(snapshot.join("a-Q8_0.gguf"))));
    assert_eq!(names(&snapshot), ["4bit", "a-Q8_0.gguf", "mlx"]);
    for (name, up) in [("4bit/config.json", 3), ("mlx/8bit/model.safetensors", 4), ("a-Q8_0.gguf", 2)] {
        let target = Path::new(&"../".repeat(up)).join("blobs").join(repository.hash(name));
        assert_eq!(fs::read_link(snapshot.join(name)).unwrap(), target, "{name}");
        assert_eq!(fs::read(snapshot.join(name)).unwrap(), repository.bytes(name), "{name}");
    }
}

#[test]
fn whoever_names_only_the_repository_is_told_what_it_holds() {
    let bed = Testbed::serving(&several());
    for inside in ["", "/2bit", "/a-Q2_K.gguf"] {
        let said = get(&bed, inside).unwrap_err().to_string();
        let choices = "`org/tiny/4bit`, `org/tiny/a-Q4_0.gguf`, `org/tiny/a-Q8_0.gguf`, `org/tiny/mlx/8bit`.";
        assert!(said.ends_with(choices), "{said}");
    }
    bed.check_absent();
}
