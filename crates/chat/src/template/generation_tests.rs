use super::*;

#[test]
fn generation_blocks_become_blocks_that_always_hold() {
    let cases = [
        ("a{% generation %}b{% endgeneration %}c", "a{% if true %}b{% endif %}c"),
        ("{%- generation -%} x {%- endgeneration +%}", "{%- if true -%} x {%- endif +%}"),
        ("{%generation%}{%endgeneration%}", "{%if true%}{%endif%}"),
        ("{# {% generation %} #}", "{# {% generation %} #}"),
        ("{{ '{% generation %}' }}", "{{ '{% generation %}' }}"),
        (r#"{{ "\"{% generation %}" }}{% generation %}"#, r#"{{ "\"{% generation %}" }}{% if true %}"#),
        ("{% set x = '%}{% generation %}' %}", "{% set x = '%}{% generation %}' %}"),
        ("{{ {'a': {'b': 1}} }}{% generation %}", "{{ {'a': {'b': 1}} }}{% if true %}"),
        ("{% raw %}{% generation %}{% endraw %}{% generation %}", "{% raw %}{% generation %}{% endraw %}{% if true %}"),
        ("{% generation x %}", "{% generation x %}"),
        ("unclosed {% generation", "unclosed {% generation"),
        ("unclosed {{ 'x", "unclosed {{ 'x"),
        ("unclosed {# x", "unclosed {# x"),
        ("{", "{"),
        ("é{{ 'é' }}{% generation %}é", "é{{ 'é' }}{% if true %}é"),
    ];
    for (source, expected) in cases {
        assert_eq!(neutralise(source), expected, "{source:?}");
    }
}
