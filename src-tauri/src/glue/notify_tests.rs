use super::*;
use tokbar_server::control::TransferKind;

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

#[test]
fn transfers_that_ended_are_news_once() {
    use TransferState::{Cancelled, Done, Failed, Paused, Running};
    let transfer = |id: &str, state: TransferState| Transfer {
        id: id.to_owned(),
        kind: TransferKind::Download,
        model: format!("org/{id}"),
        state,
        n_bytes_done: 1,
        n_bytes: None,
        bytes_per_s: None,
        left_s: None,
        error: (state == Failed).then(|| "the disk is full".to_owned()),
        path: None,
        started: String::new(),
    };
    let before = ["a", "b", "c", "d"].map(|id| transfer(id, Running));
    let now = [
        transfer("a", Done),
        transfer("b", Failed),
        transfer("c", Cancelled),
        transfer("d", Paused),
        transfer("long ago", Done),
    ];
    let expected =
        [News::Downloaded("org/a".to_owned()), News::DownloadFailed("org/b".to_owned(), "the disk is full".to_owned())];
    assert_eq!(ended(&before, &now), expected);
    assert!(ended(&[], &now).is_empty());
}
