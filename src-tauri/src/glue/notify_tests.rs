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
    let mut before = ["a", "b", "c", "d"].map(|id| transfer(id, Running)).to_vec();
    before.push(transfer("long ago", Done));
    let now = [
        transfer("a", Done),
        transfer("b", Failed),
        transfer("c", Cancelled),
        transfer("d", Paused),
        transfer("long ago", Done),
        // Begun and ended between two looks.
        transfer("swift", Failed),
    ];
    let failed = |id: &str| News::DownloadFailed(format!("org/{id}"), "the disk is full".to_owned());
    assert_eq!(ended(&before, &now), [News::Downloaded("org/a".to_owned()), failed("b"), failed("swift")]);
    assert!(ended(&now, &now).is_empty());
}

#[test]
fn an_update_is_news_once_a_version() {
    let ready = |version: &str| Standing::Ready { version: version.to_owned(), notes: String::new() };
    let mut told = None;
    for (standing, expected) in [
        (Standing::Looking, None),
        (ready("1.2.3"), Some("1.2.3")),
        (ready("1.2.3"), None),
        (Standing::UpToDate, None),
        (ready("1.2.3"), None),
        (ready("1.2.4"), Some("1.2.4")),
    ] {
        assert_eq!(update(&standing, &mut told), expected.map(|version| News::UpdateReady(version.to_owned())));
    }
}
