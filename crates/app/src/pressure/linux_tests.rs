use super::*;

fn psi(some: f64, full: f64) -> String {
    format!(
        "some avg10={some:.2} avg60=0.00 avg300=0.00 total=5\nfull avg10={full:.2} avg60=0.00 avg300=0.00 total=3\n"
    )
}

#[test]
fn waiting_for_memory_is_pressure() {
    let check = |some: f64, full: f64, expected: Level| assert_eq!(level_of(&psi(some, full)), Some(expected));
    check(0.0, 0.0, Level::Normal);
    check(9.9, 3.0, Level::Normal);
    check(10.0, 3.0, Level::Warning);
    check(60.0, 10.0, Level::Critical);
    assert_eq!(level_of("some avg10=12.00 total=1"), Some(Level::Warning));
    for text in ["", "garbage", "some avg10=x", "full avg10=99.0"] {
        assert_eq!(level_of(text), None, "{text}");
    }
}

#[test]
fn a_group_near_its_limit_is_pressure() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    put("memory.pressure", &psi(0.0, 0.0));
    let mut stall = Stall::at(dir.path(), Path::new("/nowhere")).unwrap();
    let mut check = |used: u64, expected: Level| {
        put("memory.current", &format!("{used}\n"));
        assert_eq!(stall.level(), Some(expected), "{used}");
    };
    check(999, Level::Normal);
    put("memory.max", "1000\n");
    check(899, Level::Normal);
    check(900, Level::Warning);
    check(970, Level::Critical);
    put("memory.stat", "anon 5\ninactive_file 500\n");
    check(970, Level::Normal);
    put("memory.max", "max\n");
    check(970, Level::Normal);
}

#[test]
fn without_the_kernels_word_there_is_no_source() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Stall::at(dir.path(), Path::new("/nowhere")).is_none());
}
