use super::*;
use tokbar_server::Resident;

fn census(pressure: &str, models: &[(&str, &'static str)]) -> Census {
    let model = |(id, state): &(&str, &'static str)| Resident { id: (*id).to_owned(), state, ..Resident::default() };
    Census { pressure: pressure.to_owned(), models: models.iter().map(model).collect(), ..Census::default() }
}

#[test]
fn only_what_short_memory_took_is_news() {
    let before = census("warning", &[("a", "ready"), ("b", "loading"), ("c", "ready")]);
    for (after, expected) in [
        (census("critical", &[("a", "ready"), ("c", "ready")]), vec![]),
        (census("critical", &[("c", "ready")]), vec!["a"]),
        (census("critical", &[("a", "leaving")]), vec!["a", "c"]),
        (census("normal", &[]), vec![]),
        (census("warning", &[]), vec![]),
    ] {
        let expected: Vec<News> = expected.into_iter().map(|id| News::Unloaded(id.to_owned())).collect();
        assert_eq!(news(&before, &after), expected);
    }
}
