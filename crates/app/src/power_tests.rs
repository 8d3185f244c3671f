use std::sync::{Arc, Mutex};

use super::*;

/// Writes down what it is told.
#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Vec<&'static str>>>);

impl Assertion for Scripted {
    fn take(&mut self) {
        self.0.lock().unwrap().push("take");
    }

    fn release(&mut self) {
        self.0.lock().unwrap().push("release");
    }
}

/// What is told while work comes and goes, second by second, and then the end.
fn check(work: &[(u64, Work)], expected: &[&str]) {
    let scripted = Scripted::default();
    let mut wakefulness = Wakefulness::new(Some(Box::new(scripted.clone())));
    work.iter().for_each(|(second, work)| wakefulness.observe(Duration::from_secs(*second), *work));
    drop(wakefulness);
    assert_eq!(*scripted.0.lock().unwrap(), expected, "{work:?}");
}

#[test]
fn it_is_held_while_there_is_work_and_a_moment_longer() {
    check(&[(0, Work::None), (9, Work::None)], &[]);
    check(&[(0, Work::Some), (1, Work::Some)], &["take", "release"]);
    let pause = [(0, Work::Some), (1, Work::None), (5, Work::Some), (6, Work::None), (15, Work::None)];
    check(&pause, &["take", "release"]);
    let twice = [(0, Work::Some), (1, Work::None), (11, Work::None), (60, Work::None), (61, Work::Some)];
    check(&twice, &["take", "release", "take", "release"]);
}

#[test]
fn a_machine_without_one_is_left_alone() {
    Wakefulness::new(None).observe(Duration::ZERO, Work::Some);
}
