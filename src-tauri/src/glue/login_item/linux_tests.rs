use super::*;

#[test]
fn an_entry_comes_and_goes_and_a_persons_switch_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("autostart/tokbar.desktop");
    let item = Autostart::at(path.clone(), PathBuf::from("/opt/To kbar/tokbar-desktop"));
    assert_eq!(item.state(), State::Off);
    item.disable().unwrap();
    item.enable().unwrap();
    assert_eq!(item.state(), State::On);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("\nExec=\"/opt/To kbar/tokbar-desktop\" --hidden\n"), "{text}");
    for off in OFF {
        fs::write(&path, format!("{text}{off}\n")).unwrap();
        assert_eq!(item.state(), State::Off, "{off}");
    }
    item.disable().unwrap();
    assert!(!path.exists());
    let homeless = Autostart { path: None, program: PathBuf::new() };
    assert_eq!(homeless.state(), State::Unavailable);
    assert!(homeless.enable().is_err());
}

#[test]
fn odd_names_are_quoted() {
    for (program, expected) in
        [("/a/b", "\"/a/b\""), ("/a$b", "\"/a\\\\$b\""), ("/50%", "\"/50%%\""), ("/a\"b", "\"/a\\\\\"b\"")]
    {
        assert!(entry(program).contains(&format!("Exec={expected} --hidden")), "{program}: {}", entry(program));
    }
}
