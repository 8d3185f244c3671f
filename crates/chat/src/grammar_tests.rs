use serde_json::json;

use super::fixtures::{Draws, END, accepts, is_allowed, model, parsed, scope, tool, write};
use super::*;
use crate::Specials;
use crate::formats::TOOL_FORMATS;

/// Answers drawn for each shape.
fn n_answers() -> u64 {
    if std::env::var_os("TOKBAR_TEST_ALL").is_some() { 500 } else { 6 }
}

const NO_TAIL: Option<&str> = Some("");

fn tools() -> Vec<Tool> {
    let read = json!({"type": "object", "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 500},
        "mode": {"enum": ["text", "binary"]},
        "deep": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"type": "object", "properties": {"x": {"type": "number"}, "note": {"type": "string"}}, "required": ["x"]},
    }, "required": ["path", "limit"]});
    vec![tool("read_file", read), tool("now", json!({"type": "object", "properties": {}}))]
}

fn rules(tool_choice: ToolChoice) -> AnswerRules {
    AnswerRules { tool_choice, ..AnswerRules::default() }
}

fn guide(model: &TextModel, rules: &AnswerRules, tools: &[Tool]) -> Guide {
    let wish = Wish { rules, tools, prompt_tail: NO_TAIL };
    let guidance = model.guidance(&wish, &scope(model)).unwrap();
    assert!(guidance.notices.is_empty(), "{:?}", guidance.notices);
    guidance.guide().unwrap()
}

/// Every format with each shape of its calls.
fn each_shape(mut check: impl FnMut(&TextModel, &CallShape, &str)) {
    for format in TOOL_FORMATS {
        let shapes = shape::all(format);
        for shape in shapes {
            let model = model(OutputFormat { tools: Some(format), reasoning: None }, shape.marker);
            check(&model, shape, format.name);
        }
    }
}

/// Writes whatever the grammar allows, with a liking for what closes things.
fn random_answer(guide: &mut Guide, model: &TextModel, closers: &[&str], draws: &mut Draws) -> String {
    let mut tokens = Vec::new();
    while tokens.len() < 4000 && !guide.is_complete() {
        let words = match guide.allowed().unwrap() {
            Allowed::All => panic!("free in {:?}", text_of(model, &tokens)),
            Allowed::These(words) => words,
        };
        let has = |token: &u32| words[*token as usize / 32] >> (*token % 32) & 1 == 1;
        if has(&END) && draws.below(2) == 0 {
            break;
        }
        let n_vocab = model.tokenizer.n_vocab() as u32;
        let usual = (0x20..0x7f).chain([0x0a]).chain(END + 1..n_vocab);
        let mut allowed: Vec<u32> = usual.filter(has).collect();
        if allowed.is_empty() {
            allowed = (0..END).filter(has).collect();
        }
        let next = match draws.below(3) {
            0 if allowed.len() > 1 => {
                model.tokenizer.encode(closers[draws.below(closers.len())], Specials::Omit).unwrap()
            }
            _ => vec![allowed[draws.below(allowed.len())]],
        };
        for token in next {
            if token == END || !is_allowed(guide, token) {
                break;
            }
            guide.commit(token).unwrap();
            tokens.push(token);
        }
    }
    assert!(tokens.len() < 4000, "no end: {}", text_of(model, &tokens));
    text_of(model, &tokens)
}

/// What ends values.
fn closers(shape: &CallShape) -> Vec<String> {
    let mut closers: Vec<String> = ["\"", "}", "]", ")", "\"}", "1", "<|\"|>"].map(str::to_owned).to_vec();
    for piece in shape.call {
        if let shape::Piece::Plain(pairs) = piece {
            let line = if pairs.lines { "\n" } else { "" };
            closers.extend([pairs.open, pairs.done].map(|next| format!("{line}{}\n{next}", pairs.close)));
        }
    }
    closers
}

fn text_of(model: &TextModel, tokens: &[u32]) -> String {
    let bytes: Vec<u8> = tokens.iter().flat_map(|token| model.tokenizer.token_bytes(*token)).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_parser_reads_whatever_a_formats_grammar_allows() {
    let tools = tools();
    let schemas: Vec<_> = tools.iter().map(|tool| jsonschema::validator_for(&tool.parameters).unwrap()).collect();
    each_shape(|model, shape, name| {
        let fresh = guide(model, &rules(ToolChoice::Required), &tools);
        let closers = closers(shape);
        let closers: Vec<&str> = closers.iter().map(String::as_str).collect();
        for seed in 0..n_answers() {
            let text = random_answer(&mut fresh.clone(), model, &closers, &mut Draws(seed));
            let (calls, rest) = parsed(model, &tools, &text);
            assert!(!calls.is_empty() && rest.trim().is_empty(), "{name}: {text:?} gives {calls:?} and {rest:?}");
            for (called, arguments) in calls {
                let idx = tools.iter().position(|tool| tool.name == called).unwrap();
                assert!(schemas[idx].is_valid(&arguments), "{name}: {text:?} gives {arguments}");
            }
        }
    });
}

fn hermes(template: &str) -> TextModel {
    let tools = OutputFormat::tool_format("hermes").unwrap();
    let reasoning = OutputFormat::reasoning_format("qwen3").unwrap();
    model(OutputFormat { tools: Some(tools), reasoning: Some(reasoning) }, template)
}

#[test]
fn a_form_is_written_and_nothing_else() {
    let model = hermes("");
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer", "exclusiveMinimum": 4}}, "required": ["n"]});
    for (form, right, wrong) in [
        (AnswerForm::JsonObject, "{\"a\": [1, null]}", "[1]"),
        (AnswerForm::JsonSchema(schema.clone()), "{\n  \"n\": 5\n}", "{\"n\": 4}"),
        (AnswerForm::JsonSchema(schema), "{\"n\":57}", "{\"m\": 5}"),
        (AnswerForm::Regex("[a-c]{2}/\\d+".to_owned()), "ab/17", "ad/17"),
        (AnswerForm::Lark("start: \"x\" start | \"y\"".to_owned()), "xxy", "xxz"),
        (AnswerForm::OneOf(vec!["yes".to_owned(), "no".to_owned()]), "no", "maybe"),
    ] {
        let rules = AnswerRules { form: Some(form), ..AnswerRules::default() };
        let guide = guide(&model, &rules, &[]);
        assert!(accepts(&mut guide.clone(), &model, right), "{right}");
        assert!(!accepts(&mut guide.clone(), &model, wrong), "{wrong}");
        let thought = format!("<think>\nanything {wrong} \n</think>\n\n{right}");
        assert!(accepts(&mut guide.clone(), &model, &thought), "{thought}");
        let thought = format!("<think>anything</think>{wrong}");
        assert!(!accepts(&mut guide.clone(), &model, &thought), "{thought}");
    }
}

#[test]
fn thinking_that_the_prompt_has_opened_is_free_and_does_not_end_the_answer() {
    let model = hermes("");
    let rules = AnswerRules { form: Some(AnswerForm::JsonObject), ..AnswerRules::default() };
    let wish = Wish { rules: &rules, tools: &[], prompt_tail: Some("assistant\n<think>\n") };
    let mut guide = model.guidance(&wish, &scope(&model)).unwrap().guide().unwrap();
    assert_eq!(write(&mut guide, &model, "{ not json"), 10);
    assert!(!is_allowed(&mut guide, END));
    assert!(accepts(&mut guide, &model, " </think> {\"a\": 1}"));
    assert!(guide.is_complete());
}

/// Bytes of thinking that may come before its end, and what must come then.
fn thought_within(budget: usize, (tail, thought): (&str, &str), rules: AnswerRules) -> (usize, String) {
    let (model, tools) = (hermes(""), tools());
    let rules = AnswerRules { thinking_budget: Some(budget), ..rules };
    let wish = Wish { rules: &rules, tools: &tools, prompt_tail: Some(tail) };
    let mut guide = model.guidance(&wish, &scope(&model)).unwrap().guide().unwrap();
    let n_written = write(&mut guide, &model, thought);
    let forced: Vec<u8> = guide.forced().iter().flat_map(|token| model.tokenizer.token_bytes(*token)).collect();
    let forced = String::from_utf8(forced).unwrap();
    assert_eq!(write(&mut guide, &model, &forced), forced.len());
    (n_written, forced)
}

#[test]
fn thinking_beyond_its_budget_is_closed() {
    for rules in [rules(ToolChoice::None), rules(ToolChoice::Auto), rules(ToolChoice::Required)] {
        let open = "assistant\n<think>\n";
        let check = |budget, tail, thought| thought_within(budget, (tail, thought), rules.clone());
        assert_eq!(check(10, open, "0123456789abc"), (10, "</think>".to_owned()));
        assert_eq!(check(0, open, "012"), (0, "</think>".to_owned()));
        // What the model opens itself, tag included.
        assert_eq!(check(4, "", "<think>0123456"), (11, "</think>".to_owned()));
        // A tag that is begun is completed by the model, and a character is never cut.
        assert_eq!(check(4, open, "ab</thi"), (7, String::new()));
        assert_eq!(check(4, open, "ab</thx"), (7, "</think>".to_owned()));
        assert_eq!(check(2, open, "a日本"), (4, "</think>".to_owned()));
    }
}

#[test]
fn thinking_within_its_budget_goes_its_own_way() {
    let (model, tools) = (hermes(""), tools());
    let rules = AnswerRules { thinking_budget: Some(20), ..rules(ToolChoice::Auto) };
    let mut guide = guide(&model, &rules, &tools);
    let text = "<think>short</think>A long answer that goes on and on. <tool_call>\n{\"name\": \"now\"";
    assert_eq!(write(&mut guide, &model, text), text.len());
    // Thoughts after a call draw on what is left.
    let more = ", \"arguments\": {}}\n</tool_call><think>";
    assert_eq!(write(&mut guide, &model, more), more.len());
    assert_eq!(write(&mut guide, &model, "0123456789"), 7);
}

#[test]
fn a_budget_binds_nothing_where_nothing_thinks() {
    let model = model(OutputFormat { tools: OutputFormat::tool_format("hermes").ok(), reasoning: None }, "");
    let rules = AnswerRules { thinking_budget: Some(20), ..AnswerRules::default() };
    for tail in [Some(""), None] {
        let wish = Wish { rules: &rules, tools: &[], prompt_tail: tail };
        assert!(model.guidance(&wish, &scope(&model)).unwrap().guide().is_none());
    }
}

#[test]
fn calls_are_free_to_come_and_right_when_they_do() {
    let (model, tools) = (hermes(""), tools());
    let fresh = guide(&model, &rules(ToolChoice::Auto), &tools);
    let says = |text: &str| write(&mut fresh.clone(), &model, text);
    for text in [
        "Just text, {with} <tools> and no call.",
        "<think>I could <tool_call> here</think>Fine. <tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call> after",
        "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"</tool_call>\", \"limit\": 5}}\n</tool_call>",
    ] {
        assert_eq!(says(text), text.len(), "{text}");
    }
    // The last byte of each is the first that is not allowed.
    for text in [
        "Hm. <tool_call>\n{\"name\": \"not",
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": 5",
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}",
    ] {
        assert_eq!(says(text), text.len() - 1, "{text}");
    }
    let mut open = fresh.clone();
    write(&mut open, &model, "<tool_call>\n{\"name\": \"read_file\"");
    assert!(!is_allowed(&mut open, END));
}

#[test]
fn what_a_form_leaves_no_choice_of_is_forced() {
    let (model, tools) = (hermes(""), tools());
    let mut guide = guide(&model, &rules(ToolChoice::Named("read_file".to_owned())), &tools);
    write(&mut guide, &model, "<tool_call>\n");
    let forced: Vec<u8> = guide.forced().iter().flat_map(|token| model.tokenizer.token_bytes(*token)).collect();
    assert_eq!(String::from_utf8(forced).unwrap(), "{\"name\": \"read_file\", \"arguments\": {\"path\":");
}

#[test]
fn named_and_single_calls_end_after_one() {
    let (model, tools) = (hermes(""), tools());
    let call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
    let one = AnswerRules { calls: CallCount::One, ..rules(ToolChoice::Required) };
    for rules in [one, rules(ToolChoice::Named("now".to_owned()))] {
        let mut guide = guide(&model, &rules, &tools);
        assert!(accepts(&mut guide, &model, call));
        assert!(guide.is_complete());
    }
    let mut many = guide(&model, &rules(ToolChoice::Required), &tools);
    assert!(accepts(&mut many, &model, &format!("{call}\n{call}")));
}

#[test]
fn wishes_that_are_wrong_say_what_is_wrong() {
    let (model, tools) = (hermes(""), tools());
    let form = |form| AnswerRules { form: Some(form), ..AnswerRules::default() };
    for (rules, part) in [
        (form(AnswerForm::JsonSchema(json!({"type": "strng"}))), "`type` must be one or several of"),
        (form(AnswerForm::JsonSchema(json!({"properties": {"a": {"$ref": "#/nowhere"}}}))), "at /properties/a"),
        (form(AnswerForm::JsonSchema(json!({"type": "string", "minLength": 5, "maxLength": 2}))), "no value fits"),
        (form(AnswerForm::Regex("(a".to_owned())), "unclosed group"),
        (form(AnswerForm::Lark("begin: \"a\"".to_owned())), "start"),
        (form(AnswerForm::Lark("root ::= \"a\"".to_owned())), "GBNF"),
        (rules(ToolChoice::Named("nothing".to_owned())), "\"nothing\""),
    ] {
        let wish = Wish { rules: &rules, tools: &tools, prompt_tail: NO_TAIL };
        let error = model.guidance(&wish, &scope(&model)).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(part), "{rules:?} gives {error:?}");
    }
    let plain = model_without_tools();
    let wish = Wish { rules: &rules(ToolChoice::Required), tools: &tools, prompt_tail: NO_TAIL };
    assert!(plain.guidance(&wish, &scope(&plain)).is_err());
    let wish = Wish { rules: &rules(ToolChoice::Auto), ..wish };
    assert_eq!(plain.guidance(&wish, &scope(&plain)).unwrap().notices.len(), 1);
}

fn model_without_tools() -> TextModel {
    let format = OutputFormat { tools: Some(OutputFormat::tool_format("ui_tars").unwrap()), reasoning: None };
    model(format, "")
}
