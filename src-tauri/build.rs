//! Reads the app's configuration, and makes permissions of its commands: the window's page comes from the server, to which
//! nothing is allowed by default.

const COMMANDS: &[&str] = &[
    "about",
    "login_item",
    "set_login_item",
    "reveal",
    "open_menu_bar_settings",
    "update",
    "check_for_updates",
    "install_update",
    "quit",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The bundle has its libraries beside the folder of programs.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "macos") {
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,@executable_path/../Frameworks");
    }
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest))?;
    Ok(())
}
