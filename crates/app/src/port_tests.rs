use std::net::Ipv4Addr;

use super::*;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn taken() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn an_explicit_port_that_is_taken_is_an_error_naming_the_holder() {
    let (_held, port) = taken();
    let error = bind(LOOPBACK, Some(port)).err().unwrap().to_string();
    assert!(error.contains(&port.to_string()), "{error}");
    assert!(error.contains(&format!("pid {}", std::process::id())), "{error}");
    assert!(error.contains("--port"), "{error}");
}

#[test]
fn without_a_port_the_next_free_one_is_taken_and_said() {
    let (_held, port) = taken();
    let bound = bind_first_free(LOOPBACK, port).unwrap();
    let got = bound.listener.local_addr().unwrap().port();
    assert!(got > port);
    let note = bound.note.unwrap();
    assert!(note.contains(&port.to_string()) && note.contains(&got.to_string()), "{note}");
}

#[test]
fn a_free_port_is_taken_without_a_note() {
    let (held, port) = taken();
    drop(held);
    assert!(bind(LOOPBACK, Some(port)).unwrap().note.is_none());
}
