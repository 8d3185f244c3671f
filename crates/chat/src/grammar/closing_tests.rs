use serde_json::json;

use super::super::fixtures::{Draws, END, model, parsed, scope, tool, write};
use crate::formats::TOOL_FORMATS;
use crate::grammar::{Allowed, Guide, Wish, shape};
use crate::{AnswerForm, AnswerRules, OutputFormat, TextModel, Tool, ToolChoice};

/// Answers drawn for each case.
fn n_answers() -> u64 {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 60 } else { 2 }
}

fn guide(model: &TextModel, rules: &AnswerRules, tools: &[Tool], tail: &str) -> Guide {
    let wish = Wish { rules, tools, prompt_tail: Some(tail) };
    model.guidance(&wish, &scope(model)).unwrap().guide().unwrap()
}

/// Writes whatever may come next, and does not care to end. Tells the text, and whether it came to its end.
fn rambling(guide: &mut Guide, model: &TextModel, (n_max, seed): (usize, u64)) -> (String, bool) {
    let mut draws = Draws(seed);
    let mut bytes = Vec::new();
    for _ in 0..n_max {
        if guide.is_complete() {
            break;
        }
        let Allowed::These(words) = guide.allowed().unwrap() else { panic!("free") };
        let has = |token: &u32| words[*token as usize / 32] >> (*token % 32) & 1 == 1;
        let plain = (0x20..0x7f).filter(has);
        let mut allowed: Vec<u32> = plain.collect();
        if allowed.is_empty() {
            allowed = (0..model.tokenizer.n_vocab() as u32).filter(|token| *token != END && has(token)).collect();
        }
        if allowed.is_empty() {
            assert!(has(&END));
            return (String::from_utf8(bytes).unwrap(), true);
        }
        let token = allowed[draws.below(allowed.len())];
        guide.commit(token).unwrap();
        bytes.extend(model.tokenizer.token_bytes(token));
    }
    (String::from_utf8_lossy(&bytes).into_owned(), guide.is_complete())
}

fn plain_model() -> TextModel {
    model(OutputFormat::default(), "")
}

#[test]
fn json_of_any_schema_is_complete_within_its_tokens() {
    let model = plain_model();
    let line = json!({"type": "object", "required": ["item", "price"], "additionalProperties": false, "properties":
        {"item": {"type": "string", "minLength": 3}, "price": {"type": "number"}, "tags": {"type": "array"}}});
    let tree = json!({"type": "object", "required": ["name"], "additionalProperties": false, "properties":
        {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}}});
    for (schema, n_max) in [
        (json!({"type": "object"}), 40),
        (json!({"type": "string"}), 30),
        (json!({"type": "string", "pattern": "^[a-z]+@[a-z]+\\.(org|com)$"}), 40),
        (json!({"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2}), 80),
        (json!({"type": "array", "items": line}), 200),
        (json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}), 60),
        (json!({"anyOf": [{"type": "null"}, line, {"type": "array", "items": {"enum": ["a", "b"]}}]}), 70),
        (tree, 120),
    ] {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let rules = AnswerRules { form: Some(AnswerForm::JsonSchema(schema.clone())), ..AnswerRules::default() };
        let fresh = guide(&model, &rules, &[], "");
        for seed in 0..n_answers() {
            let (text, is_complete) = rambling(&mut fresh.clone().within(n_max), &model, (n_max, seed));
            let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} of {schema}"));
            assert!(is_complete && validator.is_valid(&value), "{text} of {schema}");
        }
    }
}

#[test]
fn expressions_and_grammars_are_complete_within_their_tokens() {
    let model = plain_model();
    for (form, n_max) in [
        (AnswerForm::Regex("[a-f]*x".to_owned()), 30),
        (AnswerForm::Regex("(ab+;)+\\.".to_owned()), 30),
        (AnswerForm::Regex("\\d{4}-\\d{2}(, \\d{4}-\\d{2})*".to_owned()), 40),
        (AnswerForm::Lark("start: \"(\" start* \")\" | \"x\"".to_owned()), 40),
        (AnswerForm::OneOf(vec!["yes".to_owned(), "no, never".to_owned()]), 12),
    ] {
        let rules = AnswerRules { form: Some(form.clone()), ..AnswerRules::default() };
        let fresh = guide(&model, &rules, &[], "");
        for seed in 0..n_answers() {
            let (text, is_complete) = rambling(&mut fresh.clone().within(n_max), &model, (n_max, seed));
            assert!(is_complete, "{text:?} of {form:?}");
        }
    }
}

#[test]
fn calls_of_every_format_are_complete_within_their_tokens() {
    let parameters = json!({"type": "object", "required": ["path", "lines"], "properties": {
        "path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}, "note": {"type": "string"},
        "where": {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}}});
    let tools = [tool("write", parameters)];
    let validator = jsonschema::validator_for(&tools[0].parameters).unwrap();
    let rules = AnswerRules { tool_choice: ToolChoice::Required, ..AnswerRules::default() };
    let mut unfinished = Vec::new();
    for format in TOOL_FORMATS {
        for shape in shape::all(format) {
            let model = model(OutputFormat { tools: Some(format), reasoning: None }, shape.marker);
            let fresh = guide(&model, &rules, &tools, "");
            for seed in 0..n_answers() {
                let n_max = 1200 + 10 * seed as usize % 100;
                let (text, is_complete) = rambling(&mut fresh.clone().within(n_max), &model, (n_max, seed));
                if !is_complete {
                    unfinished.push((format.name, text));
                    continue;
                }
                let (calls, rest) = parsed(&model, &tools, &text);
                assert!(!calls.is_empty() && rest.trim().is_empty(), "{}: {text} leaves {rest:?}", format.name);
                calls.iter().for_each(|(_, arguments)| assert!(validator.is_valid(arguments), "{text}"));
            }
        }
    }
    assert!(unfinished.is_empty(), "{unfinished:#?}");
}

#[test]
fn an_answer_with_room_goes_its_own_way() {
    let model = plain_model();
    let schema =
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let rules = AnswerRules { form: Some(AnswerForm::JsonSchema(schema)), ..AnswerRules::default() };
    let text = r#"{"a": "some text", "b": "more"}"#;
    let mut guide = guide(&model, &rules, &[], "").within(text.len() + 60);
    assert_eq!(write(&mut guide, &model, text), text.len());
    assert!(guide.is_complete() && !guide.is_curtailed());
}

#[test]
fn an_answer_that_is_led_to_its_end_says_so() {
    let model = plain_model();
    let rules = AnswerRules { form: Some(AnswerForm::JsonObject), ..AnswerRules::default() };
    let mut led = guide(&model, &rules, &[], "").within(20);
    assert!(write(&mut led, &model, r#"{"a": "some text that goes on"}"#) < 20);
    assert!(led.is_curtailed());
    // What cannot be completed at all is free, and cut.
    let mut cut = guide(&model, &rules, &[], "").within(1);
    assert_eq!(write(&mut cut, &model, "{"), 1);
    assert!(!cut.is_curtailed() && !cut.is_complete());
}

#[test]
fn thinking_leaves_room_for_the_answer() {
    let reasoning = OutputFormat::reasoning_format("qwen3").unwrap();
    let model = model(OutputFormat { tools: None, reasoning: Some(reasoning) }, "");
    let rules = AnswerRules { form: Some(AnswerForm::JsonObject), ..AnswerRules::default() };
    let mut guide = guide(&model, &rules, &[], "assistant\n<think>\n").within(100);
    let (text, is_complete) = rambling(&mut guide, &model, (100, 1));
    let (thought, answer) = text.split_once("</think>").unwrap();
    assert!(is_complete && thought.len() > 40 && guide.is_curtailed(), "{text}");
    serde_json::from_str::<serde_json::Value>(answer).unwrap();
}

#[test]
fn a_vocabulary_without_an_end_is_followed_too() {
    let model = plain_model();
    let rules = AnswerRules { form: Some(AnswerForm::Regex("[a-f ]*".to_owned())), ..AnswerRules::default() };
    let wish = Wish { rules: &rules, tools: &[], prompt_tail: None };
    let endless = crate::TokenScope { ends: Vec::new(), ..scope(&model) };
    let mut guide = model.guidance(&wish, &endless).unwrap().guide().unwrap().within(8);
    assert_eq!(write(&mut guide, &model, "abc def "), 8);
}

#[test]
fn a_number_whose_digits_go_on_is_led_to_its_end() {
    let parameters = json!({"type": "object", "required": ["deposit", "annual_interest_rate", "years"], "properties":
        {"deposit": {"type": "integer"}, "annual_interest_rate": {"type": "number"}, "years": {"type": "integer"}}});
    let tools = [tool("calculate_roi", parameters)];
    let rules = AnswerRules { tool_choice: ToolChoice::Required, ..AnswerRules::default() };
    let format = TOOL_FORMATS.iter().find(|format| format.name == "hermes").unwrap();
    let model = model(OutputFormat { tools: Some(format), reasoning: None }, "<tool_call>");
    for digits in ["0", "3", "2.50", "-0.0", "-0.000"] {
        let mut guide = guide(&model, &rules, &tools, "").within(260);
        let start = format!(
            "<tool_call>\n{{\"name\": \"calculate_roi\", \"arguments\": {{\"deposit\": 1000, \"annual_interest_rate\": {digits}"
        );
        assert_eq!(write(&mut guide, &model, &start), start.len(), "{start}");
        let (mut text, mut may_end) = (start.clone(), false);
        while text.len() < 260 && !may_end {
            let Allowed::These(words) = guide.allowed().unwrap() else { panic!("free") };
            let has = |token: &u32| words[*token as usize / 32] >> (*token % 32) & 1 == 1;
            let next = std::iter::once(u32::from(b'0')).chain(0..256).find(has);
            may_end = has(&END);
            let Some(token) = next else { break };
            guide.commit(token).unwrap();
            text.push(char::from(token as u8));
        }
        let (calls, rest) = parsed(&model, &tools, &text);
        assert!(may_end && !calls.is_empty() && rest.trim().is_empty(), "{digits}: {text:?}");
    }
}
