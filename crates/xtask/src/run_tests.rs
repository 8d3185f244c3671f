use super::split;

#[test]
fn the_model_comes_first_or_not_at_all() {
    let check = |arguments: &[&str], model: Option<&str>, rest: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let (found, options) = split(&arguments);
        assert_eq!(
            (found.map(String::as_str), options),
            (model, &rest.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
        );
    };
    check(&[], None, &[]);
    check(&["org/name"], Some("org/name"), &[]);
    check(&["folder", "--port", "9000"], Some("folder"), &["--port", "9000"]);
    check(&["--port", "9000"], None, &["--port", "9000"]);
}
