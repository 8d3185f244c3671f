use std::path::Path;

use super::text;

#[test]
fn names_the_libraries_the_rpaths_and_the_bindings() {
    let text = text(Path::new("/cache/mlx 1")).expect("an ordinary path");
    for line in [
        r#"rustflags = ["-C", "link-arg=-Wl,-rpath,/cache/mlx 1/lib", "-C", "link-arg=-Wl,-rpath,/cache/mlx 1/wheel/mlx/lib"]"#,
        r#"rustc-link-search = ["/cache/mlx 1/lib", "/cache/mlx 1/wheel/mlx/lib"]"#,
        r#"rustc-env = { OUT_DIR = "/cache/mlx 1/bindings" }"#,
    ] {
        assert!(text.lines().any(|found| found == line), "no line `{line}` in\n{text}");
    }
}

#[test]
fn refuses_paths_that_the_linker_or_toml_would_misread() {
    for path in ["/cache/a,b", "/cache/a\"b", "/cache/a\\b"] {
        let error = text(Path::new(path)).expect_err(path).to_string();
        assert!(error.contains("XDG_CACHE_HOME"), "{error}");
    }
}
