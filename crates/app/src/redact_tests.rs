use super::*;

fn check(text: &str, expected: &str) {
    assert_eq!(redact(text, Some(Path::new("/Homes/ada.lovelace"))), expected);
}

#[test]
fn homes_and_names_are_left_out() {
    check("/Homes/ada.lovelace/models/x and ada.lovelace", "~/models/x and USER");
    check("no name here", "no name here");
    assert_eq!(redact("/srv/x", Some(Path::new("/"))), "/srv/x");
    assert_eq!(redact("x", None), "x");
}

#[test]
fn secrets_are_left_out() {
    check("token hf_abcdefghijkl.", "token hf_[left out]");
    check("\"tk-0123456789abcdef\", \"sk-proj-0123456789\"", "\"tk-[left out]\", \"sk-[left out]\"");
    check("Authorization: Bearer abc.def-ghi_jkl\nnext", "Authorization: Bearer [left out]\nnext");
    check("a risk-free sk-word", "a risk-free sk-word");
    check("hf_ hf_", "hf_ hf_");
}
