//! The one window, which shows the server's own page.

use std::path::{Path, PathBuf};

use tauri::webview::{DownloadEvent, NewWindowResponse};
use tauri::{AppHandle, Manager, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder};

use crate::glue::{self, dock::Dock};
use crate::menu::encoded;
use crate::session::Session;

/// What the window is called inside.
pub const LABEL: &str = "main";
/// Its size at first, and the least.
const SIZE: (f64, f64) = (1000.0, 700.0);
const SIZE_LEAST: (f64, f64) = (640.0, 480.0);

/// Shows the window at `route`, such as `/models`; where it was, or at its first page, if that is empty.
pub fn open(app: &AppHandle, route: &str) {
    if let Err(error) = try_open(app, route) {
        tracing::error!(%error, "the window cannot be opened; restart Tokbar");
    }
}

fn try_open(app: &AppHandle, route: &str) -> tauri::Result<()> {
    app.state::<Dock>().change(app, |facts| facts.has_window = true);
    let window = match app.get_webview_window(LABEL) {
        Some(window) => {
            go_to(&window, route)?;
            window
        }
        None => make(app, route)?,
    };
    window.show()?;
    window.unminimize()?;
    window.set_focus()
}

fn go_to(window: &WebviewWindow, route: &str) -> tauri::Result<()> {
    if route.is_empty() {
        return Ok(());
    }
    let hash = serde_json::Value::from(format!("#{route}"));
    window.eval(format!("location.hash = {hash}"))
}

fn make(app: &AppHandle, route: &str) -> tauri::Result<WebviewWindow> {
    let session = app.state::<std::sync::Arc<Session>>();
    let page = session.page().and_then(|page| page_at(&page, route));
    let url = match &page {
        Some(page) => WebviewUrl::External(page.clone()),
        None => WebviewUrl::App(trouble_page(&session.trouble().unwrap_or_default()).into()),
    };
    let saver = app.clone();
    let builder = WebviewWindowBuilder::new(app, LABEL, url)
        .title("Tokbar")
        .inner_size(SIZE.0, SIZE.1)
        .min_inner_size(SIZE_LEAST.0, SIZE_LEAST.1)
        .visible(false)
        .on_navigation(move |to| stays(page.as_ref(), to) || leave(to))
        .on_download(move |_, event| match event {
            DownloadEvent::Requested { destination, .. } => save(&saver, destination),
            _ => true,
        })
        .on_new_window(move |url, _| {
            glue::open_link(url.as_str());
            NewWindowResponse::Deny
        });
    #[cfg(target_os = "macos")]
    let builder = builder.title_bar_style(tauri::TitleBarStyle::Overlay).hidden_title(true);
    builder.build()
}

/// The address of a route in the server's page; `None` if that is no address.
fn page_at(page: &str, route: &str) -> Option<Url> {
    let mut url = Url::parse(page).ok()?;
    let shell = if cfg!(target_os = "macos") { "mac" } else { "linux" };
    let before = url.fragment().map_or(String::new(), |fragment| format!("{fragment}&"));
    let panel = route.trim_start_matches('/');
    let panel = if panel.is_empty() { String::new() } else { format!("&panel={panel}") };
    url.set_fragment(Some(&format!("{before}shell={shell}{panel}")));
    Some(url)
}

/// The app's own page, with why the server's is not there.
fn trouble_page(why: &str) -> String {
    format!("trouble.html#{}", encoded(why))
}

/// Whether an address is a page of ours.
fn stays(page: Option<&Url>, to: &Url) -> bool {
    let is_own = matches!(to.scheme(), "tauri" | "about") || to.host_str() == Some("tauri.localhost");
    is_own || page.is_some_and(|page| page.origin() == to.origin())
}

/// Links to elsewhere open in the browser.
fn leave(to: &Url) -> bool {
    glue::open_link(to.as_str());
    false
}

/// Offers to import a GGUF file that was dropped on the window.
pub fn dropped(app: &AppHandle, paths: &[PathBuf]) {
    let is_gguf = |path: &&PathBuf| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"));
    let (Some(window), Some(path)) = (app.get_webview_window(LABEL), paths.iter().find(is_gguf)) else { return };
    let path = serde_json::Value::from(path.to_string_lossy());
    // The panel listens once it is shown.
    let told = window.eval(format!(
        "location.hash = '#/models'; \
         setTimeout(() => dispatchEvent(new CustomEvent('tokbar:drop', {{ detail: {path} }})), 100)"
    ));
    if let Err(error) = told {
        tracing::warn!(%error, "the file that was dropped is not offered");
    }
}

/// What pages save goes to the folder of downloads, under a name that is free.
fn save(app: &AppHandle, destination: &mut PathBuf) -> bool {
    let Ok(folder) = app.path().download_dir() else { return false };
    let name = destination.file_name().map_or_else(|| "tokbar".into(), PathBuf::from);
    let is_made = std::fs::create_dir_all(&folder).is_ok();
    *destination = free_name(&folder, &name, &|path| path.exists());
    is_made
}

/// `name` in `folder`, with a number before its ending where that is taken.
fn free_name(folder: &Path, name: &Path, is_taken: &dyn Fn(&Path) -> bool) -> PathBuf {
    let stem = name.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = name.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    let names = (2..=1000).map(|n| folder.join(format!("{stem} {n}{ending}")));
    let first = folder.join(name);
    std::iter::once(first.clone()).chain(names).find(|path| !is_taken(path)).unwrap_or(first)
}

/// The window is hidden; the server goes on.
pub fn closed(app: &AppHandle) {
    app.state::<Dock>().change(app, |facts| facts.has_window = false);
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
