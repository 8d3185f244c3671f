//! Templates that would take more time or memory than there is: each ends, with an error that names the limit.

use serde_json::{Map, json};

use crate::{ChatPrompt, ChatTemplate, Message, Role};

/// Makes `x` and `y` by `step` from themselves, so that they share nothing with one another.
fn twice(step: &str, n: usize) -> String {
    let grown = |name: &str| {
        let step = step.replace("ME", &format!("ns.{name}"));
        format!("{{% for i in range({n}) %}}{{% set ns.{name} = {step} %}}{{% endfor %}}")
    };
    format!("{{% set ns = namespace(x=[1], y=[1]) %}}{}{}", grown("x"), grown("y"))
}

fn often(body: &str) -> String {
    format!("{{% for a in range(99999) %}}{{% for b in range(99999) %}}{body}{{% endfor %}}{{% endfor %}}")
}

fn render(source: &str) -> Result<String, String> {
    let said = Message::new(Role::User, "hello".to_owned());
    let template = ChatTemplate::from_source(source, Map::new()).map_err(|error| error.to_string())?;
    let kwargs = Map::from_iter([("given".to_owned(), json!([{"a": [1, 2]}, {"a": [1, 2]}]))]);
    let prompt = ChatPrompt { messages: &[said], tools: &[], template_kwargs: &kwargs };
    template.render(&prompt, &jiff::Zoned::default()).map_err(|error| error.to_string())
}

fn check_hostile(cases: impl IntoIterator<Item = (String, &'static str)>) {
    for (source, reason) in cases {
        let shown: String = source.chars().take(200).collect();
        match render(&source) {
            Ok(text) => panic!("{shown}\nrenders as {:?}", text.chars().take(80).collect::<String>()),
            Err(error) => assert!(error.contains(reason), "{shown}\nends in {error}"),
        }
    }
}

#[test]
fn values_that_share_their_parts_grow_no_further_than_the_limit() {
    let steps = [
        "[ME, ME]",
        "(ME, ME)",
        "{'a': ME, 'b': ME}",
        "dict(a=ME, b=ME)",
        "dict([ME, ME] | batch(1) | list | map('first') | batch(2) | first | map('list') | groupby(0) | first)",
        "[ME] * 2",
        "[ME] + [ME]",
        "[[ME, ME]] | list",
        "[ME, ME] | batch(2) | list",
        "[ME, ME] | slice(2) | list",
        "[ME, ME][0:]",
        "[ME, ME][::-1]",
        "[ME, ME] | reverse",
        "[ME, ME] | map('list') | list",
        "{'a': ME, 'b': ME}.values() | list",
        "{'a': ME, 'b': ME}.items() | list",
        "{'a': ME, 'b': ME} | dictsort",
        "{'a': ME, 'b': ME} | items | list",
        "[[ME], [ME]] | sum(start=[])",
    ];
    let cases = steps.iter().map(|step| twice(step, 64)).map(|source| (source + "{{ ns.x }}", ""));
    check_hostile(cases);
    for use_ in ["{{ ns.x == ns.y }}", "{{ ns.x in [ns.y] }}", "{{ ns.x | tojson }}", "{{ ns.x ~ '' }}", "done"] {
        check_hostile([(twice("[ME, ME]", 64) + use_, "work limit")]);
    }
    check_hostile([(twice("[ME, ME] | zip", 64), "zip"), (twice("ME | chain(ME)", 64), "chain")]);
}

#[test]
fn comparing_is_paid_for() {
    let large = twice("[ME, ME]", 15);
    let uses = [
        "{% if ns.x == ns.y %}{% endif %}",
        "{% if ns.x != ns.y %}{% endif %}",
        "{% if ns.x < ns.y %}{% endif %}",
        "{% if 1 < ns.x <= ns.y %}{% endif %}",
        "{% if ns.x in [0, ns.y] %}{% endif %}",
        "{% if ns.x is in([0, ns.y]) %}{% endif %}",
        "{% if ns.x is eq(ns.y) %}{% endif %}",
        "{% if loop.changed(ns.x) or loop.changed(ns.y) %}{% endif %}",
        "{% set z = [ns.x, ns.y] | sort %}",
        "{% set z = [ns.x, ns.y] | unique | list %}",
        "{% set z = [ns.x, ns.y] | max %}",
        "{% set z = [ns.x, 1] | select('equalto', ns.y) | list %}",
        "{% set z = [{'v': ns.x}] | selectattr('v', 'in', [0, ns.y]) | list %}",
        "{% set z = [{'v': ns.x}, {'v': ns.y}] | groupby('v') | list %}",
        "{% set z = [[ns.x, ns.y]] | map('sort') | list %}",
        "{% set z = given[ns.x] %}",
        "{% set z = given[0].get(ns.x) %}",
        "{% set z = ns.x | string %}",
        "{% set z = ns.x ~ ns.y %}",
        "{% set z = ns.x | replace('1', '2') %}",
        "{% set z = [ns.x] | map('string') | list %}",
        "{% set z = [ns.x] | join %}",
    ];
    check_hostile(uses.map(|use_| (format!("{large}{}", often(use_)), "work limit")));
}

#[test]
fn long_texts_are_paid_for_at_each_look() {
    let long = "{% set x = 'ab' * 4000000 %}{% set y = 'ab' * 4000000 %}";
    let uses = [
        "{% if x == y %}{% endif %}",
        "{% if x < y %}{% endif %}",
        "{% if x in [y] %}{% endif %}",
        "{% if 'c' in x %}{% endif %}",
        "{% if x is lower %}{% endif %}",
        "{% if x[-1] == 'a' %}{% endif %}",
        "{% for c in x %}{% break %}{% endfor %}",
        "{% set z = x.count('c') %}",
        "{% set z = x.split('c') %}",
        "{% set z = x | length %}",
        "{% set z = x[::-1] %}",
        "{% set z = x[1:] %}",
        "{% set z %}{{ x }}{% endset %}",
        "{% set z = [x] | map('upper') | list %}",
        "{% set z = given | map('default', x) | list %}",
        "{% set z = '{}'.format(x) %}",
        "{% set z = x.startswith((y, x)) %}",
    ];
    check_hostile(uses.map(|use_| (format!("{long}{}", often(use_)), "work limit")));
}

#[test]
fn texts_grow_no_further_than_the_limit() {
    let long = "{% set x = 'ab' * 1000000 %}";
    let uses = [
        "{{ x.replace('a', x) }}",
        "{{ x | replace('a', x) }}",
        "{{ [x] | map('replace', 'a', x) | list }}",
        "{{ x.join(x) }}",
        "{{ range(1000) | join(x) }}",
        "{{ [x] * 10000 }}",
        "{{ ([x] * 10000) | join }}",
        "{{ ([x] * 10000) | string | length }}",
        "{{ ([x] * 10000) | map('upper') | join }}",
        "{{ x.split('a') | length }}{{ x.split('b') | length }}{{ (x * 6).split('b') | length }}",
        "{{ ('{0}' * 100000).format(x) }}",
        "{{ ('{:9999}' * 100000).format(1) }}",
        "{{ ('%9999d' * 100000) | format(1) }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ x | indent(100000, true) }}{{ ('\n' * 1000) | indent(1000000, true, true) }}",
        "{{ ([1] * 10000) | tojson(indent=100000) }}",
        "{{ x | list | length }}{{ (x * 8) | list | length }}",
        "{{ x | batch(1) | list | length }}{{ (x * 8) | batch(1) | list | length }}",
    ];
    check_hostile(uses.map(|use_| (format!("{long}{use_}"), "")));
    let grown = "{% set ns = namespace(x='x') %}{% for i in range(99) %}{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}";
    check_hostile([(format!("{grown}{{% endfor %}}"), "work limit")]);
    check_hostile([("{% macro f(s) %}{{ s }}{{ s }}{% endmacro %}".to_owned() + &twice("f(ME)", 99), "work limit")]);
    check_hostile([(often("{{ 'some text that is written' }}"), "work limit")]);
}

#[test]
fn lists_that_are_computed_are_computed_once() {
    let chain = twice("ME[0:]", 60_000).replace("x=[1]", "x=range(90000)");
    check_hostile([(chain, "work limit")]);
    let nested = "{% set ns = namespace(x=range(1000)) %}{% for i in range(20000) %}\
        {% set ns.x = ns.x | map('default') | list %}{% endfor %}";
    check_hostile([(nested.to_owned(), "work limit")]);
    let picks = twice("(ME | select | list)", 50_000).replace("x=[1]", "x=range(1000)");
    check_hostile([(picks, "work limit")]);
    let counted = "{% set x = [1] * 100000000 %}{% for i in range(9) %}{% set y = x[i:] %}{% endfor %}";
    check_hostile([(counted.to_owned(), "work limit")]);
}

#[test]
fn what_holds_itself_is_refused() {
    let knot = "{% set ns = namespace() %}{% set ns.x = ns %}";
    for use_ in [
        "{{ ns }}",
        "{{ ns | tojson }}",
        "{{ ns ~ '' }}",
        "{{ ns | string }}",
        "{{ {ns: 1} }}",
        "{{ [ns] }}",
        "{{ dict(ns) }}",
        "{{ dict(a=ns) }}",
        "{{ ns | items | list }}",
        "{{ ns.items() | list }}",
        "{% set other = namespace() %}{% set other.x = other %}{{ ns == other }}",
        "{{ ns in [[1]] }}",
        "{{ [1] | map('default', ns) | list }}",
        "{{ {'a': 1}[ns] }}",
        "{{ '%s' | format(ns) }}",
    ] {
        check_hostile([(format!("{knot}{use_}"), "")]);
    }
    check_hostile([("{% for a in [1] %}{{ [loop] }}{% endfor %}".to_owned(), "holds a namespace or a loop")]);
    check_hostile([("{% for a in [1] %}{{ loop.cycle() }}{% endfor %}".to_owned(), "nothing to choose from")]);
    check_hostile([("{{ {[1]: 2} }}{{ {given: 2} }}".to_owned(), "cannot be a key")]);
}

#[test]
fn sources_that_nest_or_go_on_are_read_or_refused() {
    // Text and tags between them keep each expression short.
    let spread = |part: &str, n: usize| format!("{{{{ 1{} }}}}\n", part.repeat(n)).repeat(30);
    for (part, n) in [("+a", 450), ("|d", 450), (".a", 450), ("[0]", 300), ("()", 450), (" if a", 300)] {
        check_ends(&spread(part, n));
    }
    check_ends(&format!("{{{{ {}a }}}}", "not ".repeat(900)).repeat(15));
    check_ends(&format!("{{% if a %}}{}{{% endif %}}", "{%elif a%}".repeat(6_000)));
    check_ends(&"{% if a %}".repeat(6_000));
    check_ends(&"{# ".repeat(20_000));
    for part in ["+a", "|d", ".a", "[0]", "()", " if a", " not", ",1"] {
        check_hostile([(format!("{{{{ range(1{}) }}}}", part.repeat(1200)), "more than 1000 parts")]);
    }
    check_hostile([("a".repeat(65_001), "no more than 65000 are read")]);
    check_hostile([(format!("{{{{ {{{}}} }}}}", "a:b,".repeat(16_000)), "more than 1000 parts")]);
}

/// Reads and renders a template, whatever comes of it.
fn check_ends(source: &str) {
    let outcome = render(source);
    assert!(outcome.as_ref().map_or_else(|error| !error.is_empty(), |text| text.len() < 1 << 20), "{outcome:?}");
}

#[test]
fn guarded_templates_say_the_same() {
    for (source, expected) in [
        (
            "{% set ns = namespace(l=[]) %}{% for i in range(3) %}{% set ns.l = ns.l + [i] + [i * 2 + i] %}{% endfor %}\
             {{ ns.l | list }}{% set a = 'x' %}{{ a + a ~ a + a }}{{ (1 + 2) * 3 - 4 + 5 - 1 }}{{ ns.l[1 + 1] + ns.l[3] }}",
            "[0, 0, 1, 3, 2, 6]xxxx94",
        ),
        ("{{ given[0] == given[1] }}{{ given[0] in given }}{{ given == [{'a': [1, 2]}] * 2 }}", "TrueTrueTrue"),
        (
            "{{ (1, 2) }}{{ [1, 2][1:] }}{{ {'a': 1, 2: 'b'} }}{{ dict(a=1, **{'b': 2}) }}",
            "(1, 2)[2]{'a': 1, 2: 'b'}{'a': 1, 'b': 2}",
        ),
        (
            "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 3 < 1 < 2 }}{{ 'a' not in 'bc' }}{{ 1 in [1] and 2 not in (1, 3) }}",
            "TrueFalseFalseTrueTrue",
        ),
        (
            "{% macro m(a, b=3) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}{{ m(1) }}{% call m(1, b=2) %}c{% endcall %}",
            "1312c",
        ),
        (
            "{% set l = [m] if m is defined else [4] %}{{ l }}{{ range(*[1, 3]) | list }}{{ 'a-b' | replace(*['-', '+']) }}",
            "[4][1, 2]a+b",
        ),
        ("{% for a, b in {'x': 1, 'y': 2}.items() %}{{ a }}{{ b }}{{ loop.last }}{% endfor %}", "x1Falsey2True"),
        ("{% for a in [[1, [2]], 3] recursive %}{{ loop(a) if a is not number else a }}{% endfor %}", "123"),
        (
            "{{ 'abc'[-1] }}{{ 'abc'[1] }}{{ [1, 2][-1] }}{{ given[-1]['a'][0] }}{{ given[0].b is defined }}",
            "cb21False",
        ),
        (
            "{{ [3, 1, 2] | sort | join(',') }}{{ given | map(attribute='a') | first }}{{ [1, 2] | sum }}",
            "1,2,3[1, 2]3",
        ),
        ("{{ given | selectattr('a', 'equalto', [1, 2]) | list | length }}{{ [1, none] | select | list }}", "2[1]"),
        ("{{ messages[0].content.upper().replace('L', 'l').split('l') | last }}{{ '{}-{x}'.format(1, x=2) }}", "O1-2"),
        ("{% set s %}a{% filter upper %}b{% endfilter %}{% endset %}{{ s + 'c' }}{{ [s] + [s] }}", "aBc['aB', 'aB']"),
        (
            "{{ (a if false else 'b') == 'b' }}{{ ('b' if true else a) == 'b' }}{{ 'x' ~ none ~ true ~ [1] }}",
            "TrueTruexNoneTrue[1]",
        ),
        (
            "{{ [1, 2] is sequence }}{{ {} is mapping }}{{ [1][1:] is iterable }}{{ 2 is in [1, 2] }}{{ 'a' is lower }}",
            "TrueTrueTrueTrueTrue",
        ),
    ] {
        assert_eq!(render(source).as_deref(), Ok(expected), "{source}");
    }
}
