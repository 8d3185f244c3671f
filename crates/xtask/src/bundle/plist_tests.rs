use super::{Value, read};

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn reads_what_our_lists_hold() {
    let list = read(
        r#"<?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict>
          <!-- why --> <key>a</key><string>1 &lt; 2 &amp; 3</string>
          <key>n</key><integer>7</integer><key>yes</key><true/><key>no</key><false/>
          <key>l</key><array><string>x</string><dict/></array><key>e</key><array/>
        </dict></plist>"#,
    )
    .expect("a list");
    assert_eq!(list.keys(), ["a", "n", "yes", "no", "l", "e"]);
    assert_eq!(list.text("a"), Some("1 < 2 & 3"));
    assert_eq!(list.get("n"), Some(&Value::Number(7)));
    assert_eq!(list.get("no"), Some(&Value::Flag(false)));
    assert_eq!(list.get("l"), Some(&Value::List(vec![text("x"), Value::Dict(Vec::new())])));
    assert_eq!(list.text("yes"), None, "no text");
}

#[test]
fn refuses_what_it_cannot_read() {
    for (xml, cause) in [
        ("", "expected a tag"),
        ("<html></html>", "not a property list"),
        ("<plist><dict><key>a</key><string>x", "does not end"),
        ("<plist><dict><string>x</string></dict></plist>", "expected <key>"),
        ("<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>", "twice"),
        ("<plist><date>now</date></plist>", "not used"),
        ("<plist><true/><true/></plist>", "more than one"),
        ("<plist><integer>x</integer></plist>", "none"),
    ] {
        let error = format!("{:#}", read(xml).expect_err(xml));
        assert!(error.contains(cause), "{xml}: {error}");
    }
    let deep = format!("<plist>{}{}</plist>", "<array>".repeat(100), "</array>".repeat(100));
    assert!(read(&deep).expect_err("deep").to_string().contains("too deep"));
}
