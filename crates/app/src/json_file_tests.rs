use serde_json::{Value, json};

use super::*;

#[test]
fn files_are_replaced_whole_and_damage_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/settings.json");
    assert_eq!(read::<Value>(&path).unwrap(), None);
    write(&path, &json!({"a": 1})).unwrap();
    write(&path, &json!({"a": 2})).unwrap();
    assert_eq!(read::<Value>(&path).unwrap(), Some(json!({"a": 2})));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing else is left");
    fs::write(&path, "{\"a\":").unwrap();
    let said = format!("{:#}", read::<Value>(&path).unwrap_err());
    assert!(said.contains("settings.json is damaged"), "{said}");
}

#[test]
fn changes_at_the_same_time_are_all_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("numbers.json");
    std::thread::scope(|scope| {
        for part in 0..4_u32 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..25 {
                    let _alone = Alone::with(path).unwrap();
                    let mut numbers: Vec<u32> = read(path).unwrap().unwrap_or_default();
                    numbers.push(part * 25 + n);
                    write(path, &numbers).unwrap();
                }
            });
        }
    });
    let mut numbers: Vec<u32> = read(&path).unwrap().unwrap();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
}
