use super::*;

#[test]
fn endpoints_are_addresses_of_web_servers() {
    let check = |endpoint: &str, expected: Option<&str>| assert_eq!(host(endpoint).as_deref(), expected, "{endpoint}");
    check("https://huggingface.co", Some("huggingface.co"));
    check("http://127.0.0.1:8080/hub", Some("127.0.0.1"));
    check("http://[::1]:8080", Some("[::1]"));
    for endpoint in ["", "huggingface.co", "ftp://huggingface.co", "https://", "https://a b", "https://a?b=c"] {
        check(endpoint, None);
    }
}

#[test]
fn only_this_machine_is_asked_without_a_proxy() {
    let check = |host: &str, expected: bool| assert_eq!(is_loopback(host), expected, "{host}");
    ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"].iter().for_each(|host| check(host, true));
    ["huggingface.co", "10.0.0.1", "localhost.example", "[::2]"].iter().for_each(|host| check(host, false));
}

#[test]
fn names_are_escaped_for_addresses() {
    let check = |name: &str, expected: &str| assert_eq!(escaped(name), expected);
    check("model-00001-of-00002.safetensors", "model-00001-of-00002.safetensors");
    check("a b#c?d%e.json", "a%20b%23c%3Fd%25e.json");
    check("ü.json", "%C3%BC.json");
}
