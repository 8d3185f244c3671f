use axum::http::Request;

use super::*;
use crate::{Keys, Models};

fn check(options: &ServerOptions, parts: &Parts) -> Result<(), ApiError> {
    admit(&ServerState::new(Models::default(), options.clone()), parts).map(|_| ())
}

type Headers<'a> = &'a [(&'a str, &'a str)];

fn parts(method: Method, headers: Headers<'_>) -> Parts {
    let mut request = Request::builder().method(method).uri("/v1/models");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

#[test]
fn hosts_are_loopback_or_configured() {
    let options = ServerOptions { allowed_hosts: vec!["Mac.lan".to_owned()], ..ServerOptions::default() };
    let cases = [
        ("localhost", true),
        ("LOCALHOST:8000", true),
        ("localhost.:8000", true),
        ("app.localhost", true),
        ("127.0.0.1:1", true),
        ("127.9.9.9", true),
        ("[::1]", true),
        ("[::1]:8000", true),
        ("mac.LAN:8000", true),
        ("", false),
        (":8000", false),
        ("localhost:", false),
        ("localhost:x", false),
        ("localhost:99999", false),
        ("localhost.evil.example", false),
        ("evil-localhost", false),
        ("127.0.0.1.evil.example", false),
        ("192.168.1.2", false),
        ("[::2]", false),
        ("[::1", false),
        ("[::1]evil", false),
        ("localhost@evil.example", false),
    ];
    for (host, is_allowed) in cases {
        let got = check(&options, &parts(Method::GET, &[("host", host)])).is_ok();
        assert_eq!(got, is_allowed, "{host:?}");
        let origin = format!("http://{host}");
        let headers = [("host", "localhost"), ("origin", origin.as_str())];
        assert_eq!(check(&options, &parts(Method::POST, &headers)).is_ok(), is_allowed, "{origin:?}");
        assert!(check(&options, &parts(Method::GET, &headers)).is_ok(), "reading is open to links");
    }
    let twice = [("host", "localhost"), ("host", "evil.example")];
    assert!(check(&options, &parts(Method::GET, &twice)).is_err());
    let in_line = Request::builder().uri("http://evil.example/v1/models").header("host", "localhost");
    assert!(check(&options, &in_line.body(()).unwrap().into_parts().0).is_err());
}

#[test]
fn a_server_for_other_machines_answers_to_addresses_but_not_to_their_pages() {
    let options = ServerOptions { host_addresses: HostAddresses::Any, ..ServerOptions::default() };
    let cases =
        [("192.168.1.2:8000", true), ("[fd00::2]:8000", true), ("evil.example", false), ("1.2.3.4.evil", false)];
    for (host, is_allowed) in cases {
        assert_eq!(check(&options, &parts(Method::GET, &[("host", host)])).is_ok(), is_allowed, "{host:?}");
        let origin = format!("http://{host}");
        let headers = [("host", "192.168.1.2"), ("origin", origin.as_str())];
        assert!(check(&options, &parts(Method::POST, &headers)).is_err(), "{origin:?}");
    }
}

#[test]
fn every_key_sent_must_be_right() {
    let cases: [(&str, Headers, Option<ApiError>); 9] = [
        ("k", &[("authorization", "Bearer k")], None),
        ("k", &[("x-api-key", "k")], None),
        ("k", &[("authorization", "Bearer k"), ("x-api-key", "k")], None),
        ("k", &[], Some(ApiError::KeyMissing)),
        ("k", &[("authorization", "Bearer k"), ("x-api-key", "")], Some(ApiError::KeyWrong)),
        ("k", &[("x-api-key", "k"), ("x-api-key", "l")], Some(ApiError::KeyWrong)),
        ("k", &[("authorization", "k")], Some(ApiError::KeyWrong)),
        ("k", &[("authorization", "Bearer kk")], Some(ApiError::KeyWrong)),
        ("", &[("x-api-key", "")], Some(ApiError::KeyWrong)),
    ];
    for (key, headers, expected) in cases {
        let options = ServerOptions { keys: Some(Keys::single(key)), ..ServerOptions::default() };
        let headers = [&[("host", "localhost")], headers].concat();
        assert_eq!(check(&options, &parts(Method::GET, &headers)).err(), expected, "{headers:?}");
    }
}

#[test]
fn managing_takes_a_key_for_it() {
    let keys = Keys(vec![Key::new("a", KeyScope::Inference, "use"), Key::new("b", KeyScope::Manage, "manage")]);
    let options = ServerOptions { keys: Some(keys), ..ServerOptions::default() };
    let call = |path: &str, secrets: &[&str]| {
        let mut request = Request::builder().uri(path).header("host", "localhost");
        for secret in secrets {
            request = request.header("x-api-key", *secret);
        }
        check(&options, &request.body(()).unwrap().into_parts().0)
    };
    assert_eq!(call("/v1/models", &["use"]), Ok(()));
    assert_eq!(call("/v1/models", &["manage"]), Ok(()));
    assert_eq!(call("/control/v1/models", &["manage"]), Ok(()));
    assert_eq!(call("/control/v1/models", &["use"]), Err(ApiError::KeyScope));
    assert_eq!(call("/control/v1/models", &["manage", "use"]), Err(ApiError::KeyScope));
    assert_eq!(call("/control/v1/models", &[]), Err(ApiError::KeyMissing));
}

#[test]
fn keys_do_not_stand_in_addresses() {
    for (query, name) in [("key=x", "key"), ("beta=true&API_KEY=x", "api_key"), ("token", "token")] {
        let request = Request::builder().uri(format!("/v1/models?{query}")).header("host", "localhost");
        let error = check(&ServerOptions::default(), &request.body(()).unwrap().into_parts().0).unwrap_err();
        assert_eq!(error, ApiError::KeyInAddress { name: name.to_owned() });
    }
    let plain = Request::builder().uri("/v1/messages?beta=true&keys=1").header("host", "localhost");
    assert_eq!(check(&ServerOptions::default(), &plain.body(()).unwrap().into_parts().0), Ok(()));
}

#[test]
fn only_this_machine_manages_and_only_with_a_key() {
    let launch = Some(Key::new("launch", KeyScope::Manage, "secret"));
    let options = ServerOptions { launch, host_addresses: HostAddresses::Any, ..ServerOptions::default() };
    let from = |address: &str, path: &str, key: &str| {
        let request = Request::builder().uri(path).header("host", "localhost").header("x-api-key", key);
        let mut parts = request.body(()).unwrap().into_parts().0;
        parts.extensions.insert(Peer(address.parse().unwrap()));
        check(&options, &parts)
    };
    let managed = "/control/v1/status";
    for here in ["127.0.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"] {
        assert_eq!(from(here, managed, "secret"), Ok(()), "{here}");
        assert_eq!(from(here, managed, "wrong"), Err(ApiError::KeyWrong), "{here}");
    }
    for elsewhere in ["192.168.1.9:9", "[fe80::1]:9"] {
        assert_eq!(from(elsewhere, managed, "secret"), Err(ApiError::Elsewhere), "{elsewhere}");
        assert_eq!(from(elsewhere, "/v1/models", "whatever"), Ok(()), "calls take no key here");
    }
}
