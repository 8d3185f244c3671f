"""mlx-lm's side of the benchmark: `compare.py FOLDER PROMPT_IDS --output-tokens N --runs N` prints JSON.

The fields and their meaning are those of `tokbar bench --json`. mlx-lm is measured at its own inner loop, `generate_step`:
no server, no detokenizer. Importing Python's modules is not counted as loading, but what they hold is memory.
"""

import argparse
import json
import math
import resource
import statistics
import sys
import time
from pathlib import Path

import mlx.core as mx
from mlx_lm.generate import generate_step
from mlx_lm.utils import load


def token_times(model, prompt, n_output):
    """Seconds from the start to each token, past any EOS."""
    start = time.perf_counter()
    return [time.perf_counter() - start for _ in generate_step(mx.array(prompt), model, max_tokens=n_output)]


def percentile(values, q):
    """Nearest rank, as on the other side."""
    return sorted(values)[max(1, math.ceil(q * len(values))) - 1] if values else 0.0


def peak_rss_bytes():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def report(folder, prompt, n_output, n_runs):
    start = time.perf_counter()
    model, _ = load(str(folder))
    load_s = time.perf_counter() - start
    token_times(model, prompt, n_output)
    runs = [token_times(model, prompt, n_output) for _ in range(n_runs)]
    itls = [(b - a) * 1e3 for times in runs for a, b in zip(times, times[1:])]
    return {
        "n_prompt": len(prompt),
        "n_output": n_output,
        "n_runs": n_runs,
        "load_s": load_s,
        "ttft_s": statistics.median(times[0] for times in runs),
        "prefill_tps": statistics.median(len(prompt) / times[0] for times in runs),
        "decode_tps": statistics.median((len(times) - 1) / (times[-1] - times[0]) for times in runs) if n_output > 1 else 0.0,
        "itl_p50_ms": percentile(itls, 0.50),
        "itl_p95_ms": percentile(itls, 0.95),
        "peak_rss_bytes": peak_rss_bytes(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("prompt_ids", type=Path)
    parser.add_argument("--output-tokens", type=int, default=128)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    print(json.dumps(report(args.folder, json.loads(args.prompt_ids.read_text()), args.output_tokens, args.runs)))


if __name__ == "__main__":
    main()
