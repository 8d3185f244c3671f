//! `/metrics`: what the engines do, in the text format of Prometheus.

use tokbar_engine::Stats;

use crate::ServedModel;

/// One figure of each model.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&Stats) -> f64,
}

#[rustfmt::skip] // A table: one row per line.
const METRICS: &[Metric] = &[
    Metric { name: "sequences_running", kind: "gauge", help: "Sequences that hold a KV cache.", value: |s| s.n_running as f64 },
    Metric { name: "sequences_waiting", kind: "gauge", help: "Sequences that wait for room.", value: |s| s.n_waiting as f64 },
    Metric { name: "kv_tokens", kind: "gauge", help: "Positions of running sequences.", value: |s| s.n_kv_tokens as f64 },
    Metric { name: "kv_kept_tokens", kind: "gauge", help: "Positions in kept blocks.", value: |s| s.n_kept_tokens as f64 },
    Metric { name: "kv_blocks", kind: "gauge", help: "Blocks of KV kept for reuse.", value: |s| s.n_blocks as f64 },
    Metric { name: "kv_snapshots", kind: "gauge", help: "Snapshots of state that cannot be cut back.", value: |s| s.n_snapshots as f64 },
    Metric { name: "memory_bytes", kind: "gauge", help: "Weights, KV caches and allocator cache.", value: |s| s.memory_bytes as f64 },
    Metric { name: "prefill_tokens_per_second", kind: "gauge", help: "Prompt tokens per second, recent steps.", value: |s| s.prefill_tokens_per_s },
    Metric { name: "decode_tokens_per_second", kind: "gauge", help: "Generated tokens per second, recent steps.", value: |s| s.decode_tokens_per_s },
    Metric { name: "prompt_tokens_total", kind: "counter", help: "Prompt tokens computed.", value: |s| s.n_prompt_tokens as f64 },
    Metric { name: "output_tokens_total", kind: "counter", help: "Tokens generated.", value: |s| s.n_output_tokens as f64 },
    Metric { name: "sequences_finished_total", kind: "counter", help: "Sequences that ended well.", value: |s| s.n_finished as f64 },
    Metric { name: "sequences_cancelled_total", kind: "counter", help: "Sequences whose client went away.", value: |s| s.n_cancelled as f64 },
    Metric { name: "sequences_failed_total", kind: "counter", help: "Sequences that failed.", value: |s| s.n_failed as f64 },
    Metric { name: "sequences_preempted_total", kind: "counter", help: "Times a sequence lost its place to others.", value: |s| s.n_preempted as f64 },
    Metric { name: "prefix_hit_tokens_total", kind: "counter", help: "Tokens that kept blocks saved computing.", value: |s| s.n_hit_tokens as f64 },
    Metric { name: "prefix_waits_total", kind: "counter", help: "Times a sequence waited for another with the same prefix.", value: |s| s.n_prefix_waits as f64 },
    Metric { name: "kv_blocks_evicted_total", kind: "counter", help: "Blocks evicted.", value: |s| s.n_evicted as f64 },
    Metric { name: "kv_snapshots_taken_total", kind: "counter", help: "Snapshots taken.", value: |s| s.n_snapshots_taken as f64 },
    Metric { name: "kv_disk_writing", kind: "gauge", help: "1 while KV is written to disk.", value: |s| f64::from(u8::from(s.tier.is_writing)) },
    Metric { name: "kv_disk_bytes", kind: "gauge", help: "Bytes of the model's KV on disk.", value: |s| s.tier.n_bytes as f64 },
    Metric { name: "kv_disk_blocks", kind: "gauge", help: "Blocks on disk or about to be.", value: |s| s.tier.n_blocks as f64 },
    Metric { name: "kv_disk_snapshots", kind: "gauge", help: "Snapshots on disk or about to be.", value: |s| s.tier.n_snapshots as f64 },
    Metric { name: "kv_disk_pending", kind: "gauge", help: "Blocks and snapshots yet to be copied for the disk.", value: |s| s.tier.n_pending as f64 },
    Metric { name: "kv_disk_waiting_bytes", kind: "gauge", help: "Bytes that wait to be written to disk.", value: |s| s.tier.n_waiting_bytes as f64 },
    Metric { name: "kv_disk_written_total", kind: "counter", help: "Records written to disk.", value: |s| s.tier.n_written as f64 },
    Metric { name: "kv_disk_read_total", kind: "counter", help: "Records read from disk.", value: |s| s.tier.n_read as f64 },
    Metric { name: "kv_disk_imported_tokens_total", kind: "counter", help: "Positions brought back from disk.", value: |s| s.tier.n_imported_tokens as f64 },
    Metric { name: "kv_disk_dropped_total", kind: "counter", help: "Records given up unwritten, as the disk was too slow.", value: |s| s.tier.n_dropped as f64 },
    Metric { name: "kv_disk_evicted_total", kind: "counter", help: "Records removed from disk for newer ones.", value: |s| s.tier.n_evicted as f64 },
    Metric { name: "kv_disk_refused_total", kind: "counter", help: "Records that the model did not take.", value: |s| s.tier.n_refused as f64 },
    Metric { name: "kv_disk_skipped_total", kind: "counter", help: "Records on disk that are damaged, cut short or foreign.", value: |s| s.tier.flaws.n_all() as f64 },
    Metric { name: "kv_disk_errors_total", kind: "counter", help: "Times that the disk failed.", value: |s| s.tier.n_errors as f64 },
    Metric { name: "draft_rounds_total", kind: "counter", help: "Rows that verified drafts.", value: |s| s.drafts.n_verified as f64 },
    Metric { name: "draft_tokens_total", kind: "counter", help: "Drafts verified.", value: |s| s.drafts.n_drafted as f64 },
    Metric { name: "draft_tokens_accepted_total", kind: "counter", help: "Drafts that were right.", value: |s| s.drafts.n_accepted as f64 },
    Metric { name: "draft_acceptance_rate", kind: "gauge", help: "Drafts that were right, of all verified.", value: |s| s.drafts.acceptance_rate() },
    Metric { name: "draft_accepted_length_mean", kind: "gauge", help: "Tokens of a row that verified drafts, on average.", value: |s| s.drafts.mean_accepted_length() },
    Metric { name: "expert_hits_total", kind: "counter", help: "Experts that tokens took and that were in memory.", value: |s| s.experts.n_hits as f64 },
    Metric { name: "expert_misses_total", kind: "counter", help: "Experts that tokens took and that were read from disk.", value: |s| s.experts.n_misses as f64 },
    Metric { name: "expert_read_bytes_total", kind: "counter", help: "Bytes of experts read from disk.", value: |s| s.experts.n_bytes_read as f64 },
    Metric { name: "expert_hit_rate", kind: "gauge", help: "Experts that were in memory, of all that tokens took.", value: |s| s.experts.hit_rate() },
    Metric { name: "experts_resident", kind: "gauge", help: "Experts in memory, where not all are.", value: |s| s.experts.n_resident as f64 },
    Metric { name: "experts", kind: "gauge", help: "Experts of all layers, where not all are in memory.", value: |s| s.experts.n_all as f64 },
];

/// Every figure of every model, labelled with the model's id.
pub fn text<'a>(models: impl Iterator<Item = &'a ServedModel>) -> String {
    let stats: Vec<_> = models.map(|model| (label(&model.id), model.engine.stats())).collect();
    render(&stats)
}

fn render(stats: &[(String, Stats)]) -> String {
    let mut text = String::new();
    for Metric { name, kind, help, value } in METRICS {
        text.push_str(&format!("# HELP tokbar_{name} {help}\n# TYPE tokbar_{name} {kind}\n"));
        for (label, stats) in stats {
            text.push_str(&format!("tokbar_{name}{{model=\"{label}\"}} {}\n", value(stats)));
        }
    }
    text
}

/// An id as a label's value.
fn label(id: &str) -> String {
    id.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
