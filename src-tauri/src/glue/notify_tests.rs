use super::*;

#[test]
fn only_what_short_memory_took_is_news() {
    use Level::{Critical, Normal, Warning};
    use ResidentState::{Leaving, Loading, Ready};
    let models = |models: &[(&str, ResidentState)]| -> Vec<Resident> {
        models.iter().map(|&(id, state)| Resident { id: id.to_owned(), state, ..Resident::default() }).collect()
    };
    let before = models(&[("a", Ready), ("b", Loading), ("c", Ready)]);
    for (after, pressure, expected) in [
        (models(&[("a", Ready), ("c", Ready)]), Critical, vec![]),
        (models(&[("c", Ready)]), Critical, vec!["a"]),
        (models(&[("a", Leaving)]), Critical, vec!["a", "c"]),
        (models(&[]), Normal, vec![]),
        (models(&[]), Warning, vec![]),
    ] {
        let expected: Vec<News> = expected.into_iter().map(|id| News::Unloaded(id.to_owned())).collect();
        assert_eq!(news(&before, &after, pressure), expected);
    }
}
