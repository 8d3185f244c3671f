use super::*;
use crate::clients::table::ROWS;
use crate::repo;

#[test]
fn the_page_shows_what_went_wrong() {
    let tried = Tried { row: &ROWS[0], plain: Outcome::Right, tools: Outcome::Wrong, real: Outcome::NotAsked };
    assert!(!tried.is_right());
    assert!(page(&[tried]).contains("| yes | **no** |  |"));
}

#[test]
fn the_page_has_every_client_in_the_version_that_is_run() {
    let page = std::fs::read_to_string(repo::root().unwrap().join("docs/clients.md")).unwrap();
    for row in ROWS {
        let start = format!("| {} | ", row.name);
        let line = page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no {}", row.name));
        assert!(line.contains(&format!("| {} |", row.version())), "{line}: run `cargo xtask clients --all`");
    }
}
