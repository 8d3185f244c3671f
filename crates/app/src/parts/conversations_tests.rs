use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tempfile::TempDir;

use super::*;

fn store(dir: &TempDir) -> InFile {
    InFile { path: Some(dir.path().join("data").join(NAME)), ..InFile::default() }
}

fn conversation(id: &str, updated_ms: u64, text: &str) -> Conversation {
    let message = json!({
        "id": "m", "role": "user", "text": text, "reasoning": "", "tools": [{"id": "c", "name": "look", "args": "{}"}],
        "images": [], "model": null, "figures": null, "finish": null, "error": null, "notice": null,
    });
    let whole = json!({
        "id": id, "title": format!("Title of {id}"), "model": "tiny", "instructions": "", "temperature": 0.5,
        "created_ms": 1, "updated_ms": updated_ms, "messages": [message],
    });
    serde_json::from_value(whole).unwrap()
}

fn ids(store: &InFile, question: &str) -> Vec<String> {
    let words: Vec<String> = question.split_whitespace().map(str::to_lowercase).collect();
    store.list(&words, 10_000).unwrap().conversations.into_iter().map(|entry| entry.id).collect()
}

#[test]
fn what_is_kept_comes_back_whole_and_is_found_by_its_words() {
    let dir = TempDir::new().unwrap();
    let kept = store(&dir);
    assert_eq!(kept.list(&[], 10).unwrap(), ConversationList::default());
    kept.put(&conversation("a", 5, "Straße nach Kyoto")).unwrap();
    kept.put(&conversation("b", 7, "京都的天气 100%_sure")).unwrap();
    kept.put(&conversation("c", 6, "weather in KYOTO")).unwrap();
    assert_eq!(ids(&kept, ""), ["b", "c", "a"]);
    assert_eq!(ids(&kept, "kyoto"), ["c", "a"]);
    assert_eq!(ids(&kept, "Weather kyoto"), ["c"]);
    assert_eq!(ids(&kept, "天气"), ["b"]);
    assert_eq!(ids(&kept, "0%_s"), ["b"], "no signs of a pattern");
    assert_eq!(ids(&kept, "title of"), ["b", "c", "a"]);
    assert_eq!(ids(&kept, "') OR 1 --"), [""; 0]);
    assert_eq!(kept.list(&[], 2).unwrap().conversations.len(), 2);

    kept.put(&conversation("a", 9, "Tokyo")).unwrap();
    kept.delete("c").unwrap();
    assert!(kept.delete("c").is_err() && kept.get("c").is_err());
    drop(kept);
    let again = store(&dir);
    assert_eq!(again.get("a").unwrap(), conversation("a", 9, "Tokyo"));
    let list = again.list(&[], 10).unwrap();
    assert_eq!((list.n_kept, list.note, list.conversations[0].n_messages), (2, None, 1));
    assert_eq!(ids(&again, "kyoto"), [""; 0]);
    for end in BESIDE {
        let path = dir.path().join(format!("data/{NAME}{end}"));
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{end}: {mode:o}");
    }
}

#[test]
fn there_is_room_for_so_many_and_for_no_giant() {
    let dir = TempDir::new().unwrap();
    let kept = InFile { n_max: 2, ..store(&dir) };
    kept.put(&conversation("a", 1, "x")).unwrap();
    kept.put(&conversation("b", 2, "x")).unwrap();
    let error = kept.put(&conversation("c", 3, "x")).unwrap_err();
    assert_eq!((error.status().as_u16(), error.to_string().contains("delete some")), (409, true), "{error}");
    kept.put(&conversation("b", 4, "it may change")).unwrap();
    let error = kept.put(&conversation("b", 5, &"x".repeat(N_BYTES_MAX))).unwrap_err();
    assert_eq!((error.status().as_u16(), error.to_string().contains("begin a new one")), (409, true), "{error}");
    assert_eq!(kept.get("b").unwrap().updated_ms, 4);
}

/// A crash leaves the files as they are at that moment, the log perhaps without its end.
#[test]
fn a_crash_at_any_moment_leaves_what_was_whole_by_then() {
    let dir = TempDir::new().unwrap();
    let kept = store(&dir);
    let path = kept.path().unwrap();
    for idx in 0..30_u64 {
        kept.put(&conversation(&format!("c{idx}"), idx, &"words ".repeat(200))).unwrap();
    }
    let (file, log) = (fs::read(&path).unwrap(), fs::read(path.with_file_name(format!("{NAME}-wal"))).unwrap());
    assert!(log.len() > 50_000, "{}", log.len());
    let mut n_before = 0;
    for part in 0..=12 {
        let dir = TempDir::new().unwrap();
        let after = store(&dir);
        let path = after.path().unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &file).unwrap();
        fs::write(path.with_file_name(format!("{NAME}-wal")), &log[..log.len() * part / 12]).unwrap();
        let list = after.list(&[], 100).unwrap();
        let n = list.conversations.len();
        assert_eq!(list.note, None, "a log that is cut is no damage");
        let wanted: Vec<String> = (0..n).rev().map(|idx| format!("c{idx}")).collect();
        assert_eq!(list.conversations.iter().map(|one| one.id.clone()).collect::<Vec<_>>(), wanted);
        for id in wanted {
            after.get(&id).unwrap();
        }
        assert!(n >= n_before);
        n_before = n;
    }
    assert_eq!(n_before, 30, "whoever was told that it is kept finds it");
}

fn files_aside(dir: &TempDir) -> Vec<PathBuf> {
    let paths = fs::read_dir(dir.path().join("data")).unwrap().map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().contains("damaged") && path.extension().is_some_and(|e| e == "sqlite3"))
        .collect()
}

#[test]
fn a_file_that_is_none_is_set_aside_and_not_lost() {
    let dir = TempDir::new().unwrap();
    let kept = store(&dir);
    let path = kept.path().unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "this was never a database, but somebody may want it".repeat(100)).unwrap();
    kept.put(&conversation("a", 1, "x")).unwrap();
    let list = kept.list(&[], 10).unwrap();
    let aside = files_aside(&dir);
    assert_eq!((list.n_kept, aside.len()), (1, 1));
    assert!(fs::read_to_string(&aside[0]).unwrap().starts_with("this was never"));
    assert!(list.note.unwrap().contains(&aside[0].display().to_string()));
    assert_eq!(store(&dir).list(&[], 10).unwrap().note, None, "the next start has a whole file");
}

#[test]
fn of_a_file_that_is_damaged_inside_the_rest_is_taken_over() {
    let dir = TempDir::new().unwrap();
    let kept = store(&dir);
    for idx in 0..200_u64 {
        kept.put(&conversation(&format!("c{idx}"), idx, &format!("words {idx} ").repeat(300))).unwrap();
    }
    let path = kept.path().unwrap();
    drop(kept);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16_384].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let kept = store(&dir);
    let found = ids(&kept, "words");
    assert!((50..200).contains(&found.len()), "{}", found.len());
    for id in &found {
        assert!(kept.get(id).unwrap().messages[0].text.starts_with("words"));
    }
    let note = kept.list(&[], 1).unwrap().note.unwrap();
    assert!(note.contains(&format!("{} conversations of it", found.len())), "{note}");
    assert_eq!(fs::read(&files_aside(&dir)[0]).unwrap().len(), bytes.len());
    kept.put(&conversation("new", 1000, "x")).unwrap();
}

#[test]
fn a_file_of_a_newer_program_is_left_alone() {
    let dir = TempDir::new().unwrap();
    let kept = store(&dir);
    kept.put(&conversation("a", 1, "x")).unwrap();
    let path = kept.path().unwrap();
    drop(kept);
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA user_version = 2").unwrap();
    drop(connection);
    let error = store(&dir).put(&conversation("b", 1, "x")).unwrap_err();
    assert!(error.to_string().contains("update this one"), "{error}");
    assert!(files_aside(&dir).is_empty());
}

#[test]
fn a_disk_that_refuses_is_named() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("data"), "a file where the folder should be").unwrap();
    let error = store(&dir).list(&[], 1).unwrap_err();
    assert_eq!(error.status().as_u16(), 424);
    assert!(error.to_string().contains("conversations cannot be kept in"), "{error}");
}
