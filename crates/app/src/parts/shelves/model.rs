//! One model of the shelf, as the disk or the list of known models has it.

use tokbar_chat::ChatTemplate;
use tokbar_hub::catalog::Entry;
use tokbar_hub::checkpoint::Checkpoint;
use tokbar_hub::fit::{self, Demand, Unloaded, fit};
use tokbar_hub::scan::{self, Condition, Form, Owner};
use tokbar_server::control::{Disk, DiskState, Fit, Model, Note, Verdict};

use crate::{known, lifecycle};

/// A model that lies on the disk.
pub fn model_on_disk(
    model: &scan::Model,
    id: &str,
    entry: Option<&Entry>,
    (n_context, machine): (u64, &fit::Machine),
) -> Model {
    let about = model.about.clone().unwrap_or_default();
    let is_folder = model.form == Form::Safetensors && model.condition == Condition::Ready;
    let demand = is_folder.then(|| Checkpoint::open(&model.path).ok()).flatten().map(|open| lifecycle::demand(&open));
    let most = about.n_context.or_else(|| entry?.n_context);
    let is_told = !about.family.is_empty();
    let known = entry.map(|entry| known_model(entry, n_context, machine));
    Model {
        id: id.to_owned(),
        name: model.name.clone(),
        disk: disk(model),
        resident: None,
        transfer: None,
        fit: demand
            .map(|demand| fit_of(&demand, most.map_or(n_context, |most| most.min(n_context)), machine))
            .or_else(|| known.as_ref()?.fit.clone()),
        family: is_told.then(|| about.family.clone()).or_else(|| entry?.family.clone()),
        quantization: about.quantization.clone().or_else(|| known.as_ref()?.quantization.clone()),
        n_params: is_told.then_some(about.n_params).or_else(|| entry?.n_params),
        size_bytes: is_told.then_some(about.n_weight_bytes).or_else(|| entry?.weight_bytes()),
        n_context: most,
        capabilities: match &known {
            Some(known) if !known.capabilities.is_empty() => known.capabilities.clone(),
            _ if is_folder => capabilities(model),
            _ => Vec::new(),
        },
        // A GGUF file is imported as one of the families that are known.
        can_run: model.form == Form::Gguf || tokbar_models::is_known(&about.family),
        is_known: entry.is_some(),
        aliases: known.as_ref().map(|known| known.aliases.clone()).unwrap_or_default(),
        decode_tps: known.as_ref().and_then(|known| known.decode_tps),
        notes: known.map(|known| known.notes).unwrap_or_default(),
    }
}

/// A model of the list that is not on the disk.
pub fn known_model(entry: &Entry, n_context: u64, machine: &fit::Machine) -> Model {
    let n_context = entry.n_context.map_or(n_context, |most| most.min(n_context));
    let measured = entry.measured.as_ref();
    let by_run = measured.map(|measured| Note {
        text: format!("{:.0} tok/s, {:.1} GB with a prompt of 8k", measured.decode_tps, measured.peak_8k_gb),
        source: measured.source.clone(),
    });
    let notes = entry.notes.iter().map(|note| Note { text: note.text.clone(), source: note.source.clone() });
    Model {
        id: entry.id().into_owned(),
        name: known::short(entry).to_owned(),
        aliases: entry.names().cloned().collect(),
        disk: Disk::default(),
        resident: None,
        transfer: None,
        fit: entry.demand().map(|demand| fit_of(&demand, n_context, machine)),
        family: entry.family.clone(),
        quantization: Some(packing(entry)),
        n_params: entry.n_params,
        size_bytes: entry.weight_bytes(),
        n_context: entry.n_context,
        capabilities: entry.capabilities.clone(),
        can_run: known::can_run(entry),
        is_known: true,
        decode_tps: measured.map(|measured| measured.decode_tps),
        notes: by_run.into_iter().chain(notes).collect(),
    }
}

fn packing(entry: &Entry) -> String {
    match (&entry.quantization.mode, entry.quantization.bits) {
        (Some(mode), _) => mode.clone(),
        (None, 16) => "16-bit".to_owned(),
        (None, bits) => format!("{bits}-bit"),
    }
}

/// The verdict, with its sum.
pub fn fit_of(demand: &Demand, n_context: u64, machine: &fit::Machine) -> Fit {
    let fit = fit(demand, n_context, machine, &Unloaded::default());
    Fit {
        verdict: match fit.verdict {
            fit::Verdict::Fits => Verdict::Fits,
            fit::Verdict::Tight => Verdict::Tight,
            fit::Verdict::TooBig => Verdict::TooBig,
        },
        n_context: fit.need.n_context,
        need_bytes: fit.need.n_bytes(),
        weight_bytes: fit.need.n_weight_bytes,
        kv_bytes: fit.need.n_kv_bytes,
        step_bytes: fit.need.n_step_bytes,
        drafter_bytes: fit.need.n_drafter_bytes,
        available_bytes: fit.n_available_bytes,
        n_context_max: fit.n_context_max,
        words: fit.words,
    }
}

fn disk(model: &scan::Model) -> Disk {
    let (state, reason) = match &model.condition {
        Condition::Ready => (DiskState::Ready, None),
        Condition::Partial { reason } => (DiskState::Partial, Some(reason.clone())),
        Condition::Broken { reason } => (DiskState::Broken, Some(reason.clone())),
    };
    let form = match model.form {
        Form::Safetensors => "safetensors",
        Form::Gguf => "gguf",
    };
    Disk {
        state,
        reason,
        path: Some(model.path.display().to_string()),
        n_bytes: model.n_bytes,
        owner: Some(owner_word(model.owner).to_owned()),
        form: Some(form.to_owned()),
    }
}

/// What a model can do, by its chat template.
fn capabilities(model: &scan::Model) -> Vec<String> {
    let Ok(Some(template)) = ChatTemplate::load(&model.path) else { return Vec::new() };
    let detection = template.detection().or_by_name(&model.name);
    let all = [("chat", true), ("tools", detection.format.tools.is_some()), ("thinking", detection.format.thinks())];
    all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_owned()).collect()
}

/// An owner, as JSON has it.
pub fn owner_word(owner: Owner) -> &'static str {
    match owner {
        Owner::HuggingFace => "hugging_face",
        Owner::LmStudio => "lm_studio",
        Owner::Ollama => "ollama",
        Owner::Person => "person",
    }
}
