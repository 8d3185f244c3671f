use super::{mirror_in, newest_of};

#[test]
fn takes_the_package_of_just_this_compiler() {
    let listing = " rust-src | 1.97.1+dfsg1-1~bpo13+1 | mirror trixie-backports/main amd64 Packages\n \
                   rust-src | 1.95.0+dfsg1-2~bpo13+1 | mirror trixie-backports/main amd64 Packages\n";
    assert_eq!(newest_of(listing, "1.95.0"), Some("1.95.0+dfsg1-2~bpo13+1"));
    assert_eq!(newest_of(listing, "1.95"), None, "1.95 is not 1.95.0");
    assert_eq!(newest_of("", "1.95.0"), None);
}

#[test]
fn reads_the_mirror_of_the_machine() {
    let sources = "Types: deb\n# comment\nURIs: http://mirror.example/debian\nSuites: bookworm\n";
    assert_eq!(mirror_in(sources), Some("http://mirror.example/debian"));
    assert_eq!(mirror_in("Types: deb\n"), None);
}
