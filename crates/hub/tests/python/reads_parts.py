"""The parts of a repository that Tokbar downloaded, as huggingface_hub sees them."""

import os
import pathlib

from huggingface_hub import scan_cache_dir, snapshot_download, try_to_load_from_cache

ID, COMMIT = "org/tiny", "0123456789abcdef0123456789abcdef01234567"
NAMES = {
    "4bit": ["config.json", "model.safetensors", "tokenizer.json"],
    "mlx/8bit": ["config.json", "model.safetensors", "tokenizer.json"],
}

cache = scan_cache_dir(os.environ["HF_HUB_CACHE"])
assert not cache.warnings, cache.warnings
(repo,) = cache.repos
(revision,) = repo.revisions
assert revision.commit_hash == COMMIT and revision.refs == {"main"}, revision
assert revision.nb_files == 7 and len({file.blob_path for file in revision.files}) == 5, revision.files

for folder, names in NAMES.items():
    root = pathlib.Path(snapshot_download(ID, allow_patterns=f"{folder}/*", local_files_only=True))
    assert sorted(os.listdir(root / folder)) == names, root
    for name in names:
        assert try_to_load_from_cache(ID, f"{folder}/{name}") == str(root / folder / name)
assert try_to_load_from_cache(ID, "a-Q4_0.gguf") == str(root / "a-Q4_0.gguf")
print("all checks passed")
