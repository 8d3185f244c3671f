"""The cache that Tokbar wrote, as huggingface_hub sees it."""

import os
import pathlib

from huggingface_hub import scan_cache_dir, snapshot_download, try_to_load_from_cache

ID, COMMIT = "org/tiny", "0123456789abcdef0123456789abcdef01234567"
NAMES = ["config.json", "empty.json", "model.safetensors", "tokenizer.json"]

cache = scan_cache_dir(os.environ["HF_HUB_CACHE"])
assert not cache.warnings, cache.warnings
(repo,) = cache.repos
assert (repo.repo_id, repo.repo_type) == (ID, "model"), repo
(revision,) = repo.revisions
assert revision.commit_hash == COMMIT and revision.refs == {"main"}, revision
assert sorted(file.file_name for file in revision.files) == NAMES, revision.files
assert repo.size_on_disk == sum(file.size_on_disk for file in revision.files)

for wanted in ("main", COMMIT):
    folder = pathlib.Path(snapshot_download(ID, revision=wanted, local_files_only=True))
    assert folder.name == COMMIT and sorted(os.listdir(folder)) == NAMES, folder
assert try_to_load_from_cache(ID, "config.json") == str(folder / "config.json")
print("all checks passed")
