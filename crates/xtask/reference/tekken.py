"""Writes the ids that tiktoken gives for the corpus with the ranks of a tekken.json: `tekken.py FILE TEKKEN`."""

import base64
import json
import sys
from pathlib import Path

import tiktoken

from corpus import CORPUS


def main():
    out, source = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    config = source["config"]
    n_special = config["default_num_special_tokens"]
    words = source["vocab"][: config["default_vocab_size"] - n_special]
    ranks = {base64.b64decode(word["token_bytes"]): word["rank"] for word in words}
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    lines = [f"  {json.dumps(name)}: {[rank + n_special for rank in encoding.encode_ordinary(text)]}" for name, text in CORPUS.items()]
    out.write_text('{\n "texts": {\n' + ",\n".join(lines) + "\n }\n}\n")


if __name__ == "__main__":
    main()
