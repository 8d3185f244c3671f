use serde_json::json;

use super::*;

fn check(changes: Value, expected: Result<Value, &str>) {
    let known =
        Settings { start: StartSettings { model: Some("a/b".to_owned()), on_launch: true }, ..Settings::default() };
    match (merged(&known, &changes), expected) {
        (Ok(settings), Ok(part)) => {
            let whole = serde_json::to_value(&settings).unwrap();
            for (section, fields) in part.as_object().unwrap() {
                for (name, value) in fields.as_object().unwrap() {
                    assert_eq!(&whole[section][name], value, "{section}.{name} after {changes}");
                }
            }
        }
        (Err(ApiError::Invalid { param, .. }), Err(field)) => assert_eq!(param, field, "{changes}"),
        (outcome, _) => panic!("{changes}: {outcome:?}"),
    }
}

#[test]
fn only_what_is_given_changes_and_null_sets_back() {
    check(json!({}), Ok(json!({"start": {"model": "a/b", "on_launch": true}})));
    check(json!({"start": {"model": null}}), Ok(json!({"start": {"model": null, "on_launch": true}})));
    check(
        json!({"server": {"lan": "with_key", "port": 9000}}),
        Ok(json!({"server": {"lan": "with_key", "port": 9000}})),
    );
    check(json!({"models": {"max_rows": null}}), Ok(json!({"models": {"max_rows": 16}})));
}

#[test]
fn a_wrong_field_is_named() {
    check(json!({"start": 5}), Err("start"));
    check(json!({"start": {"modl": "x"}}), Err("start.modl"));
    check(json!({"nothing": {"x": 1}}), Err("nothing.x"));
    check(json!({"server": {"port": 70_000}}), Err("server.port"));
    check(json!({"server": {"lan": "yes"}}), Err("server.lan"));
    check(json!({"cloud": {"dialect": "other"}}), Err("cloud.dialect"));
}
