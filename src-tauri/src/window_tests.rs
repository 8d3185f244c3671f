use super::*;

#[test]
fn the_page_knows_its_shell_and_panel() {
    let shell = if cfg!(target_os = "macos") { "mac" } else { "linux" };
    for (page, route, expected) in [
        ("http://127.0.0.1:1/", "", format!("http://127.0.0.1:1/#shell={shell}")),
        (
            "http://localhost:1/#token=t",
            "/models/a%2Fb",
            format!("http://localhost:1/#token=t&shell={shell}&panel=models/a%2Fb"),
        ),
    ] {
        assert_eq!(page_at(page, route).unwrap().as_str(), expected);
    }
    assert_eq!(page_at("no address", ""), None);
}

#[test]
fn only_our_pages_stay_in_the_window() {
    let page = Url::parse("http://127.0.0.1:8000/#token=t").unwrap();
    for (to, expected) in [
        ("http://127.0.0.1:8000/", true),
        ("http://127.0.0.1:8000/assets/x.js", true),
        ("tauri://localhost/trouble.html", true),
        ("about:blank", true),
        ("http://127.0.0.1:8001/", false),
        ("https://127.0.0.1:8000/", false),
        ("https://example.org/", false),
        ("file:///etc/passwd", false),
    ] {
        assert_eq!(stays(Some(&page), &Url::parse(to).unwrap()), expected, "{to}");
    }
    assert!(!stays(None, &page));
}

#[test]
fn what_is_saved_replaces_nothing() {
    let name_among = |taken: &[&str], name: &str| {
        let is_taken = |path: &Path| taken.iter().any(|taken| path == Path::new("/d").join(taken));
        free_name(Path::new("/d"), Path::new(name), &is_taken)
    };
    assert_eq!(name_among(&[], "chat.md"), Path::new("/d/chat.md"));
    assert_eq!(name_among(&["chat.md", "chat 2.md"], "chat.md"), Path::new("/d/chat 3.md"));
    assert_eq!(name_among(&["chat"], "chat"), Path::new("/d/chat 2"));
}

#[test]
fn trouble_is_told_in_the_address() {
    assert_eq!(trouble_page("port 8000 is \"taken\""), "trouble.html#port%208000%20is%20%22taken%22");
}
