use super::problems_of;
use crate::bundle::{self, plist};

const TEMPLATE: &str = include_str!("../../../../packaging/Info.plist");

fn check(from: &str, to: &str, expected: &[&str]) {
    let text = bundle::info_plist(TEMPLATE, "1.2.3").expect("a version");
    assert!(text.contains(from), "`{from}` is not in Info.plist");
    let text = text.replace(from, to);
    let files = ["Contents/Resources/Tokbar.icns".to_owned()];
    let found = problems_of(&plist::read(&text).expect("a list"), &files);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (problem, part) in found.iter().zip(expected) {
        assert!(problem.contains(part), "{problem}");
    }
}

#[test]
fn the_committed_list_is_fine() {
    check("APPL", "APPL", &[]);
}

#[test]
fn each_wrong_value_is_named() {
    check("app.tokbar.Tokbar", "com.example.other", &["CFBundleIdentifier"]);
    check("<string>14.0</string>", "<string>13.0</string>", &["LSMinimumSystemVersion"]);
    check("<key>LSUIElement</key>\n  <true/>", "", &["LSUIElement is None"]);
    check("<key>LSUIElement</key>\n  <true/>", "<key>LSUIElement</key><string>1</string>", &["LSUIElement"]);
    check("Tokbar.icns", "Other.icns", &["Other.icns, which is not there"]);
    check("NSAllowsLocalNetworking", "NSAllowsArbitraryLoads", &["NSAllowsArbitraryLoads"]);
    check(
        "<key>CFBundleVersion</key>\n  <string>1.2.3</string>",
        "<key>CFBundleVersion</key>\n  <string>1.2</string>",
        &["are not one version"],
    );
}
