//! What the window's page may ask of the shell, as its calls arrive, without a screen.

#![cfg(target_os = "linux")]

use std::path::Path;

use serde_json::{Value, json};
use tauri::WebviewWindowBuilder;
use tauri::ipc::{CallbackFn, InvokeBody};
use tauri::test::{INVOKE_KEY, get_ipc_response, mock_builder, mock_context, noop_assets};
use tauri::webview::InvokeRequest;
use tokbar_desktop::commands;
use tokbar_desktop::glue::dock::Dock;
use tokbar_desktop::glue::login_item::{Autostart, LoginItem};

/// Calls one after another in an app whose login item is at `entry`.
fn ask(entry: &Path, calls: &[(&str, Value)]) -> Vec<Result<Value, Value>> {
    let item: Box<dyn LoginItem> = Box::new(Autostart::at(entry.to_owned(), "/usr/bin/tokbar-desktop".into()));
    let app = mock_builder()
        .manage(item)
        .manage(Dock::default())
        .invoke_handler(tauri::generate_handler![
            commands::about,
            commands::login_item,
            commands::set_login_item,
            commands::reveal,
            commands::open_menu_bar_settings,
        ])
        .build(mock_context(noop_assets()))
        .expect("an app");
    let window = WebviewWindowBuilder::new(&app, "main", Default::default()).build().expect("a window");
    let answers = calls.iter().map(|(command, body)| {
        let request = InvokeRequest {
            cmd: (*command).to_owned(),
            callback: CallbackFn(0),
            error: CallbackFn(1),
            url: "tauri://localhost".parse().expect("an address"),
            body: InvokeBody::Json(body.clone()),
            headers: Default::default(),
            invoke_key: INVOKE_KEY.to_owned(),
        };
        get_ipc_response(&window, request).map(|answer| answer.deserialize().expect("JSON"))
    });
    answers.collect()
}

#[test]
fn the_login_item_is_what_the_system_says() {
    let dir = tempfile::tempdir().expect("a folder");
    let entry = dir.path().join("autostart/tokbar.desktop");
    let answers = ask(
        &entry,
        &[
            ("login_item", json!({})),
            ("set_login_item", json!({"on": true})),
            ("login_item", json!({})),
            ("set_login_item", json!({"on": false})),
        ],
    );
    assert_eq!(answers, [false, true, true, false].map(|on| Ok(json!(on))));
    assert!(!entry.exists());
    let refused = ask(Path::new("/proc/nowhere/tokbar.desktop"), &[("set_login_item", json!({"on": true}))]);
    assert!(refused[0].as_ref().is_err_and(|error| error.as_str().is_some_and(|text| text.contains("cannot make"))));
}

#[test]
fn wrong_wishes_are_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let answers = ask(
        &dir.path().join("entry"),
        &[
            ("set_login_item", json!({"on": "maybe"})),
            ("set_login_item", json!({})),
            ("reveal", json!({"path": dir.path().join("gone")})),
            ("open_menu_bar_settings", json!({})),
            ("format_disk", json!({})),
        ],
    );
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    assert!(answers[2].as_ref().is_err_and(|error| error.to_string().contains("is not there any more")));
    assert!(answers[3].as_ref().is_err_and(|error| error.to_string().contains("add a panel that shows icons")));
}

#[test]
fn the_page_learns_what_the_shell_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let answer = ask(&dir.path().join("entry"), &[("about", json!({}))]).remove(0).expect("an answer");
    assert_eq!(answer["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(answer["is_icon_seen"], true);
}
