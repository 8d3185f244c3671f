use std::time::Duration;

use super::{Checks, Hold, Outcome, Work, may_install};
use crate::update::Place;

fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

#[test]
fn the_first_look_is_due_and_the_next_a_day_later() {
    let none = Checks::default();
    assert!(none.are_due(hours(0)));
    let once = none.after(hours(10), Outcome::Answered);
    assert!(!once.are_due(hours(33)));
    assert!(once.are_due(hours(34)));
    assert!(once.are_due(hours(9)), "the clock was set back");
}

#[test]
fn failures_are_tried_again_ever_later_but_at_least_daily() {
    let mut checks = Checks::default();
    let mut waits = Vec::new();
    for _ in 0..40 {
        checks = checks.after(hours(100), Outcome::Failed);
        let minutes = (1..=24 * 60).find(|minutes| checks.are_due(hours(100) + Duration::from_secs(minutes * 60)));
        waits.push(minutes.expect("due within a day"));
    }
    assert_eq!(waits[..4], [15, 30, 60, 120]);
    assert_eq!(waits[39], 24 * 60);
    assert_eq!(checks.after(hours(101), Outcome::Answered).n_failed, 0);
}

#[test]
fn nothing_is_cut_off_and_no_wrong_place_is_written_to() {
    let idle = Work::default();
    assert_eq!(may_install(Place::Installed, idle), Ok(()));
    let busy = Work { n_generating: 2, n_downloading: 1 };
    assert_eq!(may_install(Place::Installed, busy), Err(Hold::Generating(2)));
    assert_eq!(may_install(Place::Installed, Work { n_generating: 0, ..busy }), Err(Hold::Downloading(1)));
    for (place, hold, word) in [
        (Place::Translocated, Hold::Translocated, "Applications"),
        (Place::DiskImage, Hold::DiskImage, "Drag"),
        (Place::ReadOnly, Hold::ReadOnly, "administrator"),
        (Place::Loose, Hold::Loose, "built"),
    ] {
        // What never passes is told before what does.
        for work in [idle, busy] {
            assert_eq!(may_install(place, work), Err(hold));
        }
        assert!(hold.to_string().contains(word) && !hold.passes(), "{hold}");
    }
    assert!(Hold::Generating(1).passes() && Hold::Downloading(1).passes());
}
