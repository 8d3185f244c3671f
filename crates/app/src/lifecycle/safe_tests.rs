use super::super::mark::{Mark, Running};
use super::*;

/// As an unclean end while `model` was loaded leaves it.
fn unclean(dir: &Path, model: &str) {
    let running = Running { pid: 7, model: model.to_owned(), address: "127.0.0.1:1".to_owned(), token: String::new() };
    let mark = Mark::set(dir, &running).unwrap();
    let path = dir.join("7.json");
    let text = std::fs::read(&path).unwrap();
    drop(mark);
    std::fs::write(path, text).unwrap();
}

fn begun(dir: &Path) -> (SafeMode, ModelArgs) {
    unclean(dir, "org/big");
    let mut model = ModelArgs::named("org/big");
    model.draft.draft_model = Some("org/small".into());
    let safe = SafeMode::after_unclean_end(dir, &mut model, GOOD_FOR).unwrap();
    (safe, model)
}

#[test]
fn it_begins_once_after_an_unclean_end_and_says_what_it_means() {
    let dir = tempfile::tempdir().unwrap();
    assert!(SafeMode::after_unclean_end(dir.path(), &mut ModelArgs::named("x"), GOOD_FOR).is_none());
    unclean(dir.path(), "");
    let none = SafeMode::after_unclean_end(dir.path(), &mut ModelArgs::named("x"), GOOD_FOR);
    assert!(none.is_none(), "nothing was loaded");
    let (safe, model) = begun(dir.path());
    let note = safe.note.now().unwrap();
    for part in ["org/big", "one sequence at a time", "other calls wait", "5 minutes of good service", "--no-safe-mode"]
    {
        assert!(note.contains(part), "{part}: {note}");
    }
    assert!(model.draft.draft_model.is_none() && model.draft.speculation == SpeculationArg::Off);
    assert_eq!(safe.hold().n_rows, 1);
    assert!(SafeMode::after_unclean_end(dir.path(), &mut ModelArgs::named("x"), GOOD_FOR).is_none(), "once");
}

#[test]
fn it_ends_after_good_service_without_a_break() {
    let dir = tempfile::tempdir().unwrap();
    let (mut safe, _) = begun(dir.path());
    let note = safe.note.clone();
    let mut at = |seconds: u64, service: Service| safe.is_over(Duration::from_secs(seconds), service);
    assert!(!at(0, Service::Idle) && !at(1000, Service::Idle), "nothing was served");
    assert!(!at(1001, Service::Good) && !at(1300, Service::Good));
    assert!(!at(1300, Service::Idle) && !at(1302, Service::Good), "counted anew");
    assert!(!at(1601, Service::Good) && at(1602, Service::Good));
    assert!(note.now().is_some());
    let (draft, words) = safe.end();
    assert_eq!(draft.draft_model.as_deref(), Some("org/small"));
    assert!(words.contains("safe mode is over") && note.now().is_none(), "{words}");
}

#[test]
fn the_tighter_of_two_bounds_counts() {
    let (a, b) = (Hold { n_rows: 1, kept_bytes: 9 }, Hold { n_rows: 4, kept_bytes: 0 });
    assert_eq!(tighter(a, b), Hold { n_rows: 1, kept_bytes: 0 });
    assert_eq!(tighter(Hold::default(), b), b);
}

#[test]
fn who_asks_for_it_gets_the_same() {
    let mut model = ModelArgs::named("org/big");
    let safe = SafeMode::as_asked(&mut model, GOOD_FOR);
    assert!(safe.note.now().unwrap().starts_with("as asked: safe mode"));
    assert_eq!((safe.hold().n_rows, model.draft.speculation), (1, SpeculationArg::Off));
}
