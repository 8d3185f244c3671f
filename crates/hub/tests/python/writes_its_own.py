"""A download by huggingface_hub, which Tokbar then reads."""

from huggingface_hub import snapshot_download

snapshot_download("org/tiny", allow_patterns=["*.json", "*.safetensors"], max_workers=2)
print("all checks passed")
