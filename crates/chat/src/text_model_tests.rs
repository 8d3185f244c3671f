use std::fs;

use serde_json::{Map, json};

use super::*;
use crate::{Event, FinishReason, Message, Role, Tool};

/// A checkpoint of nine whole-word tokens; `template` is its chat template.
fn model(template: Option<&str>, fim: bool) -> TextModel {
    let names = if fim { ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"] } else { ["x", "y", "z"] };
    let words = ["<s>", "</s>", names[0], names[1], names[2], "a", "b", "user"];
    let vocab: Map<_, _> = words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let added = |id: usize| {
        json!({"id": id, "content": words[id], "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    };
    let tokenizer = json!({"version": "1.0", "added_tokens": [added(0), added(1)], "truncation": null, "padding": null,
        "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null,
        "decoder": {"type": "Fuse"}, "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "</s>"}});
    let config = json!({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true, "chat_template": template});
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    TextModel::load(dir.path()).unwrap()
}

fn chat(content: &str) -> Prompt {
    let message = Message {
        role: Role::User,
        content: content.to_owned(),
        name: None,
        reasoning: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
    };
    Prompt::Chat { messages: vec![message], tools: Vec::new(), template_kwargs: Map::new() }
}

#[test]
fn prompts_become_token_ids() {
    let template = "{{ bos_token }} {% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}";
    let (model, infill) = (model(Some(template), true), |prefix: &str, suffix: &str| Prompt::Infill {
        prefix: prefix.to_owned(),
        suffix: suffix.to_owned(),
    });
    for (prompt, expected) in [
        // The template writes BOS; no second one is added.
        (chat("a b"), vec![0, 7, 5, 6]),
        (Prompt::Text("a b".to_owned()), vec![0, 5, 6]),
        (Prompt::Tokens(vec![6, 0, 7]), vec![6, 0, 7]),
        (infill("a", "b"), vec![0, 2, 5, 3, 6, 4]),
        (infill("", ""), vec![0, 2, 3, 4]),
    ] {
        assert_eq!(model.prompt_tokens(&prompt, &Zoned::default()).unwrap(), expected, "{prompt:?}");
    }
}

#[test]
fn prompts_that_do_not_fit_the_checkpoint_say_what_to_do() {
    let refusing = Some("{{ raise_exception('no users please') }}");
    let infill = Prompt::Infill { prefix: "a".to_owned(), suffix: "b".to_owned() };
    for (template, prompt, reason) in [
        (None, chat("a"), "no chat template"),
        (None, chat("a"), "use an instruction-tuned checkpoint"),
        (refusing, chat("a"), "no users please"),
        (None, infill, "no fill-in-the-middle tokens"),
        (None, Prompt::Tokens(vec![1, 8]), "token 8 does not exist; the vocabulary has ids 0 to 7"),
    ] {
        let error = model(template, false).prompt_tokens(&prompt, &Zoned::default()).unwrap_err().to_string();
        assert!(error.contains(reason), "{prompt:?}: {error}");
    }
}

#[test]
fn special_tokens_that_mark_calls_reach_the_parser_and_no_others() {
    // Words 0 and 1 are special; the second is Mistral's mark here, and BOS stays hidden.
    let dir = tempfile::tempdir().unwrap();
    let words = ["<s>", "[TOOL_CALLS]", "zip", "{}", "hi"];
    let vocab: Map<_, _> = words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    let added = |id: usize| {
        json!({"id": id, "content": words[id], "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    };
    let tokenizer = json!({"version": "1.0", "added_tokens": [added(0), added(1)], "truncation": null, "padding": null,
        "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": {"type": "Fuse"},
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "hi"}});
    fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(dir.path().join("chat_template.jinja"), "[TOOL_CALLS]").unwrap();
    let model = TextModel::load(dir.path()).unwrap();
    assert_eq!(model.format().tools.map(|format| format.name), Some("mistral"));

    let tools = [Tool { name: "zip".to_owned(), description: None, parameters: json!({}) }];
    let mut parser = model.output_parser(&OutputOptions { tools: &tools, prompt_tail: "", id_seed: 1 });
    let mut detokenizer = model.chat_detokenizer();
    let mut events: Vec<Event> =
        [4, 0, 1, 2, 3].into_iter().flat_map(|id| parser.push(&detokenizer.push(id))).collect();
    events.extend(parser.finish(FinishReason::Stop));
    let [Event::Text(text), Event::ToolStart { name, .. }, rest @ ..] = &events[..] else { panic!("{events:?}") };
    assert_eq!((text.as_str(), name.as_str()), ("hi", "zip"));
    let arguments = Event::ToolArgs { index: 0, json: "{}".to_owned() };
    assert_eq!(rest, [arguments, Event::ToolEnd { index: 0 }, Event::Finish(FinishReason::ToolCalls)]);

    assert_eq!(model.prompt_tail(&[4, 0, 1]), "hi<s>[TOOL_CALLS]");
    assert_eq!((model.prompt_tail(&[]), model.prompt_tail(&[4; 100])), (String::new(), "hi".repeat(32)));
    let mut plain = model.tokenizer.detokenizer();
    assert_eq!(plain.push(1), "");
}
