use serde_json::json;

use super::*;

#[test]
fn switches_are_said_in_the_templates_own_words() {
    let flag = "{% if thinking is not defined %}{% endif %}{% if thinking %}<think>{% endif %}";
    let levels = "{% if reasoning_effort not in ['high', 'low', 'no_think'] %}{% endif %}";
    let cases = [
        (json!({"enable_thinking": false}), "{% if enable_thinking is false %}", json!({"enable_thinking": false})),
        (
            json!({"reasoning_effort": "none"}),
            "{% if enable_thinking %}",
            json!({"reasoning_effort": "none", "enable_thinking": false}),
        ),
        (
            json!({"reasoning_effort": "low"}),
            "{% if enable_thinking %}",
            json!({"reasoning_effort": "low", "enable_thinking": true}),
        ),
        (json!({"enable_thinking": true}), flag, json!({"enable_thinking": true, "thinking": true})),
        (
            json!({"enable_thinking": false, "thinking": true}),
            flag,
            json!({"enable_thinking": false, "thinking": true}),
        ),
        (json!({"enable_thinking": false}), levels, json!({"enable_thinking": false, "reasoning_effort": "no_think"})),
        (json!({"reasoning_effort": "medium"}), levels, json!({"reasoning_effort": "low"})),
        (json!({"reasoning_effort": "xhigh"}), levels, json!({"reasoning_effort": "high"})),
        (
            json!({"reasoning_effort": "minimal"}),
            "{{ reasoning_effort or 'medium' }}{# 'low' #}",
            json!({"reasoning_effort": "low"}),
        ),
        (
            json!({"reasoning_effort": "high"}),
            "{{ reasoning_strength }}",
            json!({"reasoning_effort": "high", "reasoning_strength": "high"}),
        ),
        (
            json!({"enable_thinking": false}),
            "{% if thinking_mode == \"disabled\" %}",
            json!({"enable_thinking": false, "thinking_mode": "disabled"}),
        ),
        (json!({"x": 1}), levels, json!({"x": 1})),
        (json!({"enable_thinking": true}), "{{ message.thinking }} 'thinking' is", json!({"enable_thinking": true})),
    ];
    for (kwargs, source, expected) in cases {
        let own = translate(kwargs.as_object().unwrap(), source);
        assert_eq!(Value::Object(own), expected, "{kwargs} {source}");
    }
}
