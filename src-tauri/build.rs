//! Reads the app's configuration, and makes permissions of its commands: the window's page comes from the server, to which
//! nothing is allowed by default.

const COMMANDS: &[&str] = &["about", "login_item", "set_login_item", "reveal", "quit"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest))?;
    Ok(())
}
