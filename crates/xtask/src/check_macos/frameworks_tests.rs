use std::collections::BTreeSet;

use super::{Declared, Library, places, stub};

fn read(source: &str) -> Declared {
    let mut declared = Declared::default();
    declared.read(source);
    declared
}

fn names(symbols: &[&str]) -> BTreeSet<String> {
    symbols.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn finds_libraries_and_symbols_however_they_are_declared() {
    let declared = read(
        r#"
        #[link(name = "AppKit", kind = "framework")]
        unsafe extern "C" {
            pub fn NSBeep(); // pub fn NSCommented();
            pub static NSFont: &'static NSString;
            static mut NSMutable: c_int;
            #[link_name = "NSRenamed$VARIANT"] safe fn ours(x: [u8; { 2 + 2 }]) -> bool;
        }
        extern_c!( { fn not_a_block(); } );
        extern_c_unwind! { pub unsafe fn objc_thing<T>(a: T); }
        #[cfg_attr(target_vendor = "apple", link(name = "objc", kind = "dylib"))]
        extern "C-unwind" {}
        #[link(name = "elsewhere")]
        extern "Rust" { fn not_c(); }
        fn rust() {}
        "#,
    );
    let libraries = [Library::Framework("AppKit".to_owned()), Library::Plain("objc".to_owned())];
    assert_eq!(declared.libraries, libraries.into());
    let symbols = ["NSBeep", "NSFont", "NSMutable", "NSRenamed$VARIANT", "ours", "objc_thing"];
    assert_eq!(declared.symbols, names(&symbols));
}

#[test]
fn a_block_that_does_not_end_is_read_to_the_end() {
    assert_eq!(read("extern \"C\" { fn last();").symbols, names(&["last"]));
    assert_eq!(read("extern \"C\" { fn").symbols, names(&[]));
    assert_eq!(read("link(").libraries, BTreeSet::new());
}

#[test]
fn stubs_say_what_a_linker_reads() {
    let (path, install_name) = places(&Library::Framework("AppKit".to_owned()));
    assert_eq!(path.to_str(), Some("System/Library/Frameworks/AppKit.framework/AppKit.tbd"));
    let text = stub(&install_name, &names(&["NSBeep", "NSFont"]));
    assert!(text.contains("install-name: '/System/Library/Frameworks/AppKit.framework/Versions/A/AppKit'"), "{text}");
    assert!(text.contains("symbols: [ '_NSBeep', '_NSFont' ]"), "{text}");
    assert!(!stub("x", &names(&[])).contains("exports"), "nothing is exported by an empty stub");
    assert_eq!(places(&Library::Plain("objc".to_owned())).1, "/usr/lib/libobjc.A.dylib");
}
