use super::{control, place};

#[test]
fn the_control_file_has_what_debian_asks_for() {
    let text = control("1.2.3", &["libc6".to_owned(), "libgtk-3-0".to_owned()], 2049);
    for line in ["Package: tokbar", "Version: 1.2.3", "Installed-Size: 3", "Depends: libc6, libgtk-3-0"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let description = text.split_once("Description: ").expect("a description").1;
    assert!(description.lines().skip(1).all(|line| line.starts_with(' ')), "{description}");
    assert!(text.ends_with('\n'));
}

#[test]
fn what_is_made_goes_where_shells_and_man_look() {
    for (name, expected) in [
        ("tokbar.1", "man/man1/tokbar.1"),
        ("tokbar-serve.1", "man/man1/tokbar-serve.1"),
        ("_tokbar", "zsh/vendor-completions/_tokbar"),
        ("tokbar.bash", "bash-completion/completions/tokbar"),
    ] {
        assert_eq!(place(name).expect(name).to_str(), Some(expected));
    }
    assert!(place("something").is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn libraries_are_found_in_their_packages() {
    assert_eq!(super::owner("libc.so.6").expect("a package"), "libc6");
    assert!(super::owner("libno-such-thing.so.1").is_err());
}
