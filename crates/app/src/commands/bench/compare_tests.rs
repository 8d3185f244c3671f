use super::super::results::tests::two_targets;
use super::*;

#[test]
fn targets_of_the_same_name_are_told_apart_by_their_files() {
    let file = |stem: &str| (stem.to_owned(), two_targets());
    let all = merged(vec![file("monday"), file("friday"), file("friday")]);
    let names: Vec<&str> = all.targets.iter().map(|target| target.name.as_str()).collect();
    let expected = ["ours", "theirs", "ours (friday)", "theirs (friday)", "ours (friday 2)", "theirs (friday 2)"];
    assert_eq!(names, expected);
    let rows = all.rows();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].ratio(2), rows[0].ratio(3)), (Some(1.0), Some(0.5)));
}
