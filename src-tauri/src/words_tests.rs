use super::*;

#[test]
fn a_locale_chooses_a_language() {
    for (locale, expected) in [
        ("zh_CN.UTF-8", Language::Chinese),
        ("zh-Hans-CN", Language::Chinese),
        ("ZH", Language::Chinese),
        ("en_US", Language::English),
        ("zha", Language::English),
        ("C", Language::English),
        ("", Language::English),
    ] {
        assert_eq!(Language::of(locale), expected, "{locale}");
    }
}

#[test]
fn values_go_where_they_belong() {
    for (template, expected) in
        [("{0} · {1}", "a · b"), ("{1}{1}", "bb"), ("none", "none"), ("{2}{x}", ""), ("100 {", "100 {"), ("}{0}", "}a")]
    {
        assert_eq!(fill(template, &["a", "b"]), expected, "{template}");
    }
    assert_eq!(fill("{0}", &["{0} and {1}"]), "{0} and {1}", "values are no templates");
}

/// Each field of the `Debug` text, in order.
fn fields(words: &Words) -> Vec<(String, String)> {
    let text = format!("{words:#?}");
    let lines = text.lines().filter_map(|line| line.trim().trim_end_matches(',').split_once(": "));
    lines.map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned())).collect()
}

#[test]
fn both_languages_say_everything_with_the_same_values() {
    let holes = |text: &str| ["{0}", "{1}", "{2}"].map(|hole| text.matches(hole).count());
    let (english, chinese) = (fields(&ENGLISH), fields(&CHINESE));
    assert!(english.len() > 35);
    for ((name, english), (_, chinese)) in english.iter().zip(&chinese) {
        assert!(!english.is_empty() && !chinese.is_empty(), "{name}");
        assert_eq!(holes(english), holes(chinese), "{name}");
        assert!(english != chinese, "{name} is translated");
    }
}
