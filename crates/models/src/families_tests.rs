//! docs/models.md: made of the table of families, the goldens, the catalogue and what chat templates tell.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::catalogue::{ABSENT, CATALOGUE};
use super::{FAMILIES, Family};
use crate::cache::CacheKind;
use crate::config::ConfigFile;
use crate::fixtures::{Fixture, golden_dir};
use crate::golden_tests::{golden_names, model_types};
use crate::load::build;
use crate::mx::Dtype;
use crate::weights::{Compute, Kernels, PackedWeights, WeightFiles};

/// Set by `cargo xtask docs`: the page is written instead of compared.
const WRITE: &str = "TOKBAR_WRITE_DOCS";

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a golden shows of its family.
struct Shown {
    name: String,
    caches: Vec<CacheKind>,
    packings: Vec<String>,
    has_head: bool,
}

#[test]
fn the_page_of_models_is_up_to_date() {
    let path = crates().join("../docs/models.md");
    let page = page();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "{} is out of date: run `cargo xtask docs`", path.display());
}

fn page() -> String {
    let mut by_family: BTreeMap<&str, Vec<Shown>> = BTreeMap::new();
    for name in golden_names() {
        let (family, shown) = shown(name);
        by_family.entry(family).or_default().push(shown);
    }
    let mut page = String::from(HEAD);
    let formats = formats();
    for family in FAMILIES.iter().filter(|family| family.name != "hybrid_test") {
        let shown = by_family.get(family.name).map_or(&[][..], Vec::as_slice);
        page.push_str(&row(family, shown, &formats));
    }
    page.push_str(PACKINGS);
    let mut packings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for shown in by_family.values().flatten() {
        for packing in &shown.packings {
            packings.entry(packing).or_default().push(&shown.name);
        }
    }
    for (packing, names) in packings {
        writeln!(page, "| {packing} | {} |", code(names)).unwrap();
    }
    page.push_str(MISSING);
    for (name, why) in ABSENT {
        writeln!(page, "| {name} | {why} |").unwrap();
    }
    page
}

/// The family that a golden loads as, and what it shows.
fn shown(name: String) -> (&'static str, Shown) {
    let fixture = Fixture::read(&name);
    let dir = tempfile::tempdir().unwrap();
    fixture.write(dir.path());
    let config = ConfigFile::read(dir.path()).unwrap();
    let compute = Compute { dtype: Some(Dtype::Float32), packed: PackedWeights::Keep, kernels: Kernels::Plain };
    let files = WeightFiles::open(dir.path()).unwrap();
    let (model, _) = build(&config, &files, compute, &mut |_| {}).unwrap();
    let family = super::find(config.model_type().unwrap()).unwrap().name;
    (
        family,
        Shown {
            caches: model.sizes().caches.clone(),
            packings: packings(&fixture.config),
            has_head: fixture.head.is_some(),
            name,
        },
    )
}

/// How a checkpoint's matrices are packed.
fn packings(config: &Value) -> Vec<String> {
    let published = &config["quantization_config"];
    if published["quant_method"] == "compressed-tensors" {
        return vec!["4-bit integers with a factor for each 32 of a row".to_owned()];
    }
    if published["quant_method"] == "mxfp4" {
        return vec!["mxfp4, 4 bits, in blocks of 32".to_owned()];
    }
    if published["quant_method"] == "fp8" {
        let each = if published["weight_block_size"].is_null() { "matrix" } else { "block" };
        return vec![format!("8-bit floats with a factor for each {each}")];
    }
    let table = &config["quantization"];
    let exceptions = table.as_object().into_iter().flat_map(|table| table.values()).filter(|value| value.is_object());
    let mut all: Vec<String> = std::iter::once(table)
        .chain(exceptions)
        .filter(|packing| packing.is_object())
        .map(|packing| {
            let mode = packing["mode"].as_str().unwrap_or("affine");
            format!("{mode}, {} bits, groups of {}", packing["bits"], packing["group_size"])
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Tool calls and reasoning of public templates.
fn formats() -> BTreeMap<String, (String, String)> {
    let text = std::fs::read_to_string(crates().join("chat/tests/fixtures/template_formats.txt")).unwrap();
    let lines = text.lines().map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>());
    lines.map(|words| (words[0].clone(), (words[1].clone(), words[2].clone()))).collect()
}

fn row(family: &Family, shown: &[Shown], formats: &BTreeMap<String, (String, String)>) -> String {
    let entry = CATALOGUE.iter().find(|entry| entry.family == family.name);
    let templates = entry.map_or(&[][..], |entry| entry.templates);
    let known = templates.iter().map(|name| formats.get(*name).unwrap_or_else(|| panic!("no template {name}")));
    let (mut tools, mut reasoning): (Vec<&str>, Vec<&str>) = known.map(|(a, b)| (a.as_str(), b.as_str())).unzip();
    for names in [&mut tools, &mut reasoning] {
        names.retain(|name| *name != "-");
        names.sort_unstable();
        names.dedup();
    }
    let types = std::iter::once(family.name).chain(family.aliases.iter().copied());
    let mut keeps: Vec<&str> = shown.iter().flat_map(|shown| shown.caches.iter().map(kept)).collect();
    keeps.sort_unstable();
    keeps.dedup();
    let goldens = shown.iter().map(|shown| shown.name.as_str()).collect::<Vec<_>>();
    format!(
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        entry.map_or("", |entry| entry.checkpoints),
        code(types.collect()),
        keeps.join(", "),
        code(tools),
        code(reasoning),
        if shown.iter().any(|shown| shown.has_head) { "drafts" } else { "" },
        code(goldens)
    )
}

fn kept(kind: &CacheKind) -> &'static str {
    match kind {
        CacheKind::Full => "all positions",
        CacheKind::Rotating { .. } => "the last positions",
        CacheKind::State => "a state",
    }
}

fn code(names: Vec<&str>) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn goldens_name_a_family_each() {
    for name in golden_names() {
        let types = model_types(&Fixture::read(&name).config);
        assert!(types.iter().any(|name| super::find(name).is_ok()), "{name}: {types:?} in {}", golden_dir().display());
    }
}

const HEAD: &str = "\
# Models

Made by `cargo xtask docs`; what it is made of is the table of families, their goldens and the chat templates of the tests.

A checkpoint runs here when its `model_type` is in the table, as published or as MLX converts it; of one that also sees or
hears, the text part does. Every golden is a tiny checkpoint whose logits equal the reference's: in prefill, cached decode and
ragged batches, by fused and by plain operations (see `crates/models/tests/golden`).

How a checkpoint writes tool calls and reasoning is read off its chat template; the columns say what the templates of the tests
tell. A head that predicts several tokens (MTP) drafts where the column says so, from the checkpoint or from a folder `mtp` in it;
other families leave it out.

| checkpoints | `model_type` | layers keep | tool calls | reasoning | MTP | goldens |
|---|---|---|---|---|---|---|
";

const PACKINGS: &str = "
## Packed weights

Any matrix of any family may be packed, also each otherwise; these are the packings that goldens prove.

| packing | goldens |
|---|---|
";

const MISSING: &str = "
## What does not run

| `model_type` | why |
|---|---|
";
