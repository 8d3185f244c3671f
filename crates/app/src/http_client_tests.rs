use hyper_util::client::proxy::matcher::Matcher;

use super::*;

fn way(url: &str, proxy: &str, no: &str) -> Result<&'static str, String> {
    let proxies = Matcher::builder().https(proxy).http(proxy).no(no).build();
    match client_by(url, &proxies) {
        Ok(HttpClient::Direct(_)) => Ok("direct"),
        Ok(HttpClient::Tunnelled(_)) => Ok("tunnelled"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn servers_elsewhere_are_reached_through_the_proxy_and_this_machine_is_not() {
    let proxy = "http://user:pass@proxy.example:3128";
    for (url, no, wanted) in [
        ("http://api.example/v1", "", "tunnelled"),
        ("http://api.example/v1", "other.example, .api.example, api.example", "direct"),
        ("http://deep.api.example/v1", "api.example", "direct"),
        ("http://localhost:8000/v1", "", "direct"),
        ("http://127.0.0.1:8000/v1", "", "direct"),
        ("http://[::1]:8000/v1", "", "direct"),
        ("http://10.1.2.3/v1", "10.0.0.0/8", "direct"),
    ] {
        assert_eq!(way(url, proxy, no), Ok(wanted), "{url} without {no:?}");
    }
    let refused = way("http://api.example/v1", "socks5://user:secret@proxy.example:1080", "").unwrap_err();
    assert!(refused.contains("HTTPS_PROXY") && !refused.contains("secret"), "{refused}");
}
