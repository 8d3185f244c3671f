use tokbar_app::update::{Trial, read_trial, write_trial};

use super::{Answer, Begun, Step, begin, trial_file};

const UNASKED: fn(&Trial) -> Answer = |trial| panic!("nobody is to be asked about {trial:?}");

fn trial(n_starts: u32) -> Trial {
    Trial { from: "1.0.0".to_owned(), to: "1.1.0".to_owned(), n_starts }
}

#[test]
fn starts_of_a_new_version_are_counted_and_the_third_asks() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = trial_file(dir.path());
    assert_eq!(begin(dir.path(), "1.1.0", UNASKED).expect("begun"), Step::Go(Begun::Ordinary));
    write_trial(&file, Some(&trial(0))).expect("written");
    for n_starts in [1, 2] {
        let step = begin(dir.path(), "1.1.0", UNASKED).expect("begun");
        assert_eq!(step, Step::Go(Begun::OnTrial(trial(n_starts))));
        assert_eq!(read_trial(&file), Some(trial(n_starts)));
    }
    let again = begin(dir.path(), "1.1.0", |asked| {
        assert_eq!(*asked, trial(3));
        Answer::Again
    });
    assert_eq!(again.expect("begun"), Step::Run(std::env::current_exe().expect("a program")));
    assert_eq!(read_trial(&file), Some(trial(0)), "it may fail as often again");
}

#[test]
fn what_is_no_app_cannot_go_back_and_says_so() {
    let dir = tempfile::tempdir().expect("a folder");
    write_trial(&trial_file(dir.path()), Some(&trial(2))).expect("written");
    let error = begin(dir.path(), "1.1.0", |_| Answer::Previous).expect_err("no app");
    assert!(error.to_string().contains("not an installed app"), "{error:#}");
}

#[test]
fn the_version_before_says_that_it_is_back_once() {
    let dir = tempfile::tempdir().expect("a folder");
    write_trial(&trial_file(dir.path()), Some(&trial(3))).expect("written");
    assert_eq!(begin(dir.path(), "1.0.0", UNASKED).expect("begun"), Step::Go(Begun::Back(trial(3))));
    assert_eq!(begin(dir.path(), "1.0.0", UNASKED).expect("begun"), Step::Go(Begun::Ordinary));
}
