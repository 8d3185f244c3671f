use std::path::Path;

use super::config_text;

#[test]
fn a_mac_gets_mlx_its_rpath_and_the_oldest_system() {
    let text = config_text(Path::new("/cache/mlx")).expect("an ordinary path");
    for line in [
        r#"MACOSX_DEPLOYMENT_TARGET = "14.0""#,
        r#"rustflags = ["-C", "link-arg=-Wl,-rpath,/cache/mlx/wheel/mlx/lib"]"#,
        r#"rustc-link-search = ["native=/cache/mlx/lib", "native=/cache/mlx/wheel/mlx/lib"]"#,
        r#"rustc-env = { OUT_DIR = "/cache/mlx/bindings" }"#,
    ] {
        assert!(text.lines().any(|found| found == line), "no line `{line}` in\n{text}");
    }
}
