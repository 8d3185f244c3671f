use serde_json::json;
use tokbar_chat::Role;

use super::*;

fn answer(caller: &str, text: &str) -> KeptAnswer {
    let turn = [Message::new(Role::User, text.to_owned())];
    KeptAnswer {
        caller: Caller(Some(caller.to_owned())),
        body: json!({}),
        input: Vec::new(),
        turns: vec![Arc::from(turn)],
    }
}

fn me() -> Caller {
    Caller(Some("me".to_owned()))
}

#[test]
fn callers_see_their_own() {
    let kept = Kept::default();
    kept.put("a".to_owned(), answer("me", "x"));
    assert!(kept.get("a", &me()).is_some());
    assert!(kept.get("a", &Caller(None)).is_none() && !kept.forget("a", &Caller(Some("you".to_owned()))));
    assert!(kept.get("b", &me()).is_none());
    assert!(kept.forget("a", &me()) && !kept.forget("a", &me()));
}

#[test]
fn the_least_recently_used_go_first() {
    let kept = Kept::default();
    for idx in 0..N_ANSWERS_MAX {
        kept.put(idx.to_string(), answer("me", "x"));
    }
    assert!(kept.get("0", &me()).is_some());
    kept.put("new".to_owned(), answer("me", "x"));
    assert!(kept.get("0", &me()).is_some() && kept.get("1", &me()).is_none() && kept.get("new", &me()).is_some());
}

#[test]
fn bytes_are_bounded() {
    let kept = Kept::default();
    let big = "x".repeat(N_BYTES_MAX / 4);
    for idx in 0..10 {
        kept.put(idx.to_string(), answer("me", &big));
    }
    let shelf = || kept.shelf.lock().unwrap();
    assert!(shelf().n_bytes <= N_BYTES_MAX && shelf().answers.len() == 3);
    kept.put("huge".to_owned(), answer("me", &"x".repeat(N_BYTES_MAX)));
    assert!(kept.get("huge", &me()).is_none() && kept.get("9", &me()).is_some());
    for idx in 0..10 {
        kept.forget(&idx.to_string(), &me());
    }
    assert_eq!(shelf().n_bytes, 0);
}
