use super::guard;

fn check(source: &str, expected: &str) {
    assert_eq!(guard(source), expected, "{source}");
}

#[test]
fn additions_of_what_may_be_lists_are_guarded() {
    check("{{ a + b }}", "{{ ((a)|__bounded + (b)|__bounded) }}");
    check("{%- set x = y[1:] + [z] -%}", "{%- set x = ((y[1:])|__bounded + (([z]|__weighed))|__bounded) -%}");
    check("{% if a.b + c.d(e) and f %}", "{% if ((a.b)|__bounded + (c.d(e))|__bounded) and f %}");
    check("{{ f(a + b, c) }}", "{{ f(((a)|__bounded + (b)|__bounded) , c) }}");
    check("{% set ns.x = [ns.x, ns.x] %}", "{% set ns.x = ([ns.x, ns.x]|__weighed) %}");
    check(
        "{% if x in ('a', b) %}{{ {'a': b[c]}[d] }}",
        "{% if x in (('a', b)|__weighed) %}{{ ({'a': b[c]}|__weighed)[d] }}",
    );
    check("{{ a + b is not none }}", "{{ ((a)|__bounded + (b is not none)|__bounded) }}");
}

#[test]
fn all_else_is_left_as_it_is() {
    for source in [
        "a + b",
        "{{ 'a + b' }}",
        "{{ 'a' + b + c }}",
        "{{ b + \"\\\"\" + c }}",
        "{{ loop.index0 + 1 }}",
        "{{ -1 }}{{ [+1, 2] }}",
        "{# a + b #}",
        "{% raw %}{{ a + b }}{% endraw %}",
        "{%+ if a %}{{- a -}}{% endif +%}",
        "{% set (a, b) = c[d] %}{% for (k, v) in e.items() %}{% macro f(g, h=(i, j)) %}{% call(k, l) m(n) %}",
        "{{ x[y][1:] }}{{ [1, 'a', {'b': 2}] }}{{ (a or b)(c, d) }}",
        "{{ a + (b }}",
        "{{ a + ",
    ] {
        check(source, source);
    }
}

#[test]
fn guarded_templates_say_the_same() {
    let source = "{% set ns = namespace(l=[]) %}{% for i in range(3) %}{% set ns.l = ns.l + [i] + [i * 2 + i] %}{% endfor %}\
        {{ ns.l | list }}{% set a = 'x' %}{{ a + a ~ a + a }}{{ (1 + 2) * 3 - 4 + 5 - 1 }}{{ ns.l[1 + 1] + ns.l[3] }}";
    let template = crate::ChatTemplate::from_source(source, serde_json::Map::new()).unwrap();
    let kwargs = serde_json::Map::new();
    let prompt = crate::ChatPrompt { messages: &[], tools: &[], template_kwargs: &kwargs };
    let text = template.render(&prompt, &jiff::Zoned::default()).unwrap();
    assert_eq!(text, "[0, 0, 1, 3, 2, 6]xxxx94");
}
