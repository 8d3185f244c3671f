use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;

use super::*;

#[test]
fn a_second_start_is_heard_by_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    let Start::First(first) = start(&config, "").unwrap() else { panic!("nobody was there") };
    let (sender, wishes) = mpsc::channel();
    let end = first.ender();
    let listening = thread::spawn(move || first.listen(|wish| sender.send(wish.to_owned()).unwrap()));
    for wish in ["", "/models"] {
        assert!(matches!(start(&config, wish).unwrap(), Start::Second));
        assert_eq!(wishes.recv().unwrap(), wish);
    }
    end();
    listening.join().unwrap();
    assert!(wishes.recv().is_err());
    assert!(!config.join("desktop.sock").exists(), "nothing is left to connect to");
    assert!(matches!(start(&config, "").unwrap(), Start::First(_)));
}

#[test]
fn what_a_kill_left_is_in_nobodys_way() {
    let dir = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(dir.path().join("desktop.sock")).unwrap());
    fs::write(dir.path().join("desktop.lock"), "").unwrap();
    assert!(matches!(start(dir.path(), "").unwrap(), Start::First(_)));
}

#[test]
fn long_or_broken_wishes_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let Start::First(first) = start(dir.path(), "").unwrap() else { panic!("nobody was there") };
    let end = first.ender();
    let (sender, wishes) = mpsc::channel();
    let listening = thread::spawn(move || first.listen(|wish| sender.send(wish.to_owned()).unwrap()));
    let say = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(dir.path().join("desktop.sock")).unwrap();
        // The listener may have closed it already.
        if stream.write_all(bytes).is_ok() {
            drop(stream.shutdown(std::net::Shutdown::Write));
        }
    };
    say(&[0xff, 0xfe]);
    say(&vec![b'x'; 10_000]);
    assert!(matches!(start(dir.path(), "/chat").unwrap(), Start::Second));
    assert_eq!(wishes.iter().find(|wish| !wish.starts_with('x')).as_deref(), Some("/chat"));
    end();
    listening.join().unwrap();
}
