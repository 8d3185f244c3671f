use super::*;

#[test]
fn formats_are_told_by_the_chat_template() {
    let cases = [
        ("{{ messages[0].content }}", None, None),
        ("<tool_call> {\"name\": <function-name>} </tool_call> <think> </think>", Some("hermes"), Some("qwen3")),
        ("<tool_call>\n<function=a>\n<parameter=b>", Some("qwen3_coder"), None),
        ("<|start_header_id|> {\"name\": x, \"parameters\": y}", Some("llama3"), None),
        ("<|python_tag|>", Some("llama3"), None),
        ("[AVAILABLE_TOOLS] [TOOL_CALLS] [THINK] [/THINK]", Some("mistral"), Some("mistral")),
        ("<tool_call>a<arg_key>b</arg_key><arg_value>c</arg_value> </think>", Some("glm47"), Some("qwen3")),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜> ```json </think>", Some("deepseek_v3"), Some("qwen3")),
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜> </think>", Some("deepseek_v31"), Some("qwen3")),
        ("<|tool_call_begin|> <|tool_call_argument_begin|>", Some("kimi_k2"), None),
        ("<minimax:tool_call> <invoke name= </think>", Some("minimax"), Some("qwen3")),
        ("<|tool_call>call: <|channel>thought <channel|>", Some("gemma4"), Some("gemma4")),
        ("<|start|>assistant<|channel|>final<|message|>", Some("harmony"), None),
        ("<seed:tool_call><function=a><parameter=b><seed:think></seed:think>", Some("qwen3_coder"), Some("seed_oss")),
        ("<｜DSML｜invoke name=", Some("deepseek_v32"), None),
        ("<|tool_call:begin|><|tool_call:args|>", Some("solar"), None),
        ("<|tool_list_start|>", Some("lfm2"), None),
        ("<function name=\"a\"><param name=\"b\">", Some("minicpm"), None),
        ("<TOOLCALL>[]</TOOLCALL>", Some("hermes"), None),
    ];
    for (template, tools, reasoning) in cases {
        let format = Detection::by_template(template).format;
        let names = (format.tools.map(|format| format.name), format.reasoning.map(|format| format.name));
        assert_eq!(names, (tools, reasoning), "{template}");
    }
}

#[test]
fn formats_have_names_and_aliases_of_their_own() {
    let mut names = std::collections::BTreeSet::new();
    for format in TOOL_FORMATS {
        for name in std::iter::once(&format.name).chain(format.aliases) {
            assert!(names.insert(*name), "{name} names two formats");
            assert_eq!(OutputFormat::tool_format(name), Ok(format));
        }
    }
    assert_eq!(OutputFormat::reasoning_format("deepseek_r1").map(|format| format.name), Ok("qwen3"));
    let error = OutputFormat::tool_format("nope").unwrap_err().to_string();
    assert!(error.contains("no tool call format named nope") && error.contains("hermes, llama3"), "{error}");
}

#[test]
fn every_way_out_of_a_state_exists_and_no_terminal_is_empty() {
    for format in TOOL_FORMATS {
        let inner = format.states.iter().flat_map(|state| state.rules);
        for rule in format.entries.iter().chain(format.fresh_entries).chain(inner) {
            assert!(!rule.on.is_empty(), "{}", format.name);
            check_target(format, rule.to);
        }
        for state in format.states {
            check_target(format, state.otherwise);
            match state.body {
                Body::JsonArguments { done }
                | Body::PythonArguments { done }
                | Body::JsonCall { done }
                | Body::GemmaArguments { done } => check_target(format, done),
                Body::HarmonyHeader { call } => check_target(format, Goto::State(call)),
                _ => {}
            }
        }
    }
}

fn check_target(format: &ToolFormat, to: Goto) {
    if let Goto::State(idx) = to {
        assert!(idx < format.states.len(), "{} has no state {idx}", format.name);
    }
}
