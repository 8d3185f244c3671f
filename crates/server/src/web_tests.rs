use axum::http::{HeaderMap, HeaderValue, header};

use super::{FILES, INDEX, content_type, file, is_built_in, page};

fn accepting(accept: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))])
}

#[test]
fn programs_get_no_page() {
    assert!(page(&HeaderMap::new()).is_none());
    assert!(page(&accepting("*/*")).is_none());
    assert!(page(&accepting("application/json")).is_none());
}

#[test]
fn browsers_get_the_page_if_it_is_built_in_and_nothing_inline_may_run() {
    let answer = page(&accepting("text/html,application/xhtml+xml,*/*;q=0.8"));
    assert_eq!(answer.is_some(), is_built_in());
    let Some(answer) = answer else { return };
    let policy = answer.headers()[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let html = String::from_utf8_lossy(file(FILES, INDEX).expect("it was answered"));
    assert!(!html.contains("<script>") && !html.contains("<style"), "{html}");
}

#[test]
fn only_whole_names_of_built_in_files_are_found() {
    let files: &[(&str, &[u8])] = &[("/index.html", b"page"), ("/assets/a.js", b"code")];
    for (path, expected) in [
        ("/assets/a.js", Some(&b"code"[..])),
        ("/assets/", None),
        ("/assets/../index.html", None),
        ("/assets/%2e%2e/index.html", None),
        ("/assets/a.js/", None),
        ("", None),
    ] {
        assert_eq!(file(files, path), expected, "{path}");
    }
}

#[test]
fn files_have_the_types_that_browsers_insist_on() {
    for (path, expected) in [
        ("/index.html", "text/html; charset=utf-8"),
        ("/assets/a.js", "text/javascript; charset=utf-8"),
        ("/assets/a-b.c.css", "text/css; charset=utf-8"),
        ("/assets/a.svg", "image/svg+xml"),
        ("/assets/none", "application/octet-stream"),
    ] {
        assert_eq!(content_type(path), expected, "{path}");
    }
}
