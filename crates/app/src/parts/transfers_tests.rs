use super::*;

fn queue() -> Queue {
    Queue::at(None)
}

/// A list in which nothing starts by itself.
fn list() -> List {
    let mut list = List::default();
    for name in ["a/a", "b/b", "c/c"] {
        list.add(Wanted::new(TransferKind::Download, name.to_owned(), None)).unwrap();
    }
    list
}

#[test]
fn the_oldest_go_first_and_few_at_a_time() {
    let mut list = list();
    let first = list.next(2).unwrap();
    let second = list.next(2).unwrap();
    assert!(list.next(2).is_none(), "two run");
    assert_eq!((first.wanted.model.as_str(), second.wanted.model.as_str()), ("a/a", "b/b"));
    second.ended(second.turn(), Ok("/there".to_owned()));
    assert_eq!(list.next(2).unwrap().wanted.model, "c/c");
    let states: Vec<_> = list.shown().iter().map(|transfer| transfer.state).collect();
    assert_eq!(states, [TransferState::Running, TransferState::Done, TransferState::Running]);
}

#[test]
fn a_change_of_mind_outlives_what_the_thread_says() {
    let mut list = list();
    let job = list.next(1).unwrap();
    let turn = job.turn();
    job.came(turn, (10, 100), (Some(5.0), Some(18.0)));
    assert_eq!(job.shown().n_bytes, Some(100));
    job.pause();
    job.came(turn, (20, 100), (Some(5.0), Some(16.0)));
    assert_eq!((job.shown().n_bytes_done, job.shown().left_s), (10, None), "it is paused");
    job.resume();
    assert!(list.next(1).is_none(), "the old thread still works");
    job.ended(turn, Err("cancelled".to_owned()));
    assert_eq!((job.shown().state, job.shown().error), (TransferState::Waiting, None));
    assert_eq!(list.next(1).unwrap().wanted.model, "a/a");
    job.ended(job.turn(), Err("no network".to_owned()));
    assert_eq!(job.shown().error.as_deref(), Some("no network"));
    assert!(list.wanted()[0].is_paused, "what failed waits for somebody");
}

#[test]
fn what_is_not_over_is_kept_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("transfers.json");
    let paused = Wanted { is_paused: true, ..Wanted::new(TransferKind::Download, "a/a".to_owned(), None) };
    json_file::write(&path, &vec![paused.clone()]).unwrap();
    let queue = Queue::at(Some(path.clone()));
    let shown = queue.list().unwrap();
    assert_eq!((shown[0].model.as_str(), shown[0].state), ("a/a", TransferState::Paused));
    drop(queue);
    assert_eq!(json_file::read::<Vec<Wanted>>(&path).unwrap(), Some(vec![paused]));
    std::fs::write(&path, "nonsense").unwrap();
    assert!(Queue::at(Some(path)).list().unwrap().is_empty());
}

#[test]
fn what_cannot_be_is_refused() {
    let queue = queue();
    let problem = |outcome: Result<Transfer, ApiError>| match outcome {
        Err(ApiError::Wish { problem, .. }) => Some(problem),
        Err(ApiError::Invalid { .. }) => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem(queue.download("nonsense", None)), Some(Problem::Missing));
    assert_eq!(problem(queue.import("/nowhere.gguf", None)), None);
    assert_eq!(problem(queue.change("t9", TransferChange::Pause)), Some(Problem::Missing));
    let job = list().next(1).unwrap();
    assert_eq!(problem(alter(&job, TransferChange::Clear)), Some(Problem::Busy));
    assert_eq!(problem(alter(&job, TransferChange::Resume)), Some(Problem::Busy));
    alter(&job, TransferChange::Cancel).unwrap();
    assert_eq!(alter(&job, TransferChange::Clear).unwrap().state, TransferState::Cancelled);
}
