//! This user's settings: where they are, and which can be used.

use std::path::PathBuf;

use anyhow::Result;
use tokbar_server::ApiError;
use tokbar_server::control::Settings;

use crate::{config_dir, json_file};

/// Where they are kept.
///
/// # Errors
/// When the user has no home folder.
pub fn place() -> Result<PathBuf> {
    Ok(config_dir::place()?.join("settings.json"))
}

/// As they are; the usual ones where there is no file, or for fields that it lacks.
///
/// # Errors
/// When the file is damaged.
pub fn read() -> Result<Settings> {
    Ok(json_file::read(&place()?)?.unwrap_or_default())
}

/// Refuses values that nothing can be done with.
///
/// # Errors
/// Names the field.
pub fn check(settings: &Settings) -> Result<(), ApiError> {
    let one_of = |field: &str, value: &str, known: &[&str]| {
        let detail = || format!("must be one of {}, not {value:?}", known.join(", "));
        if known.contains(&value) { Ok(()) } else { Err(ApiError::invalid(field, detail())) }
    };
    let Settings { server, models, app, cloud, .. } = settings;
    one_of("models.speculation", &models.speculation, &["auto", "off", "ngram"])?;
    one_of("app.language", &app.language, &["system", "en", "zh-Hans"])?;
    one_of("app.appearance", &app.appearance, &["system", "light", "dark"])?;
    one_of("app.icon_title", &app.icon_title, &["none", "speed"])?;
    one_of("cloud.key_from", &cloud.key_from, &["env", "file", "keychain", "none"])?;
    if !(1..=256).contains(&models.max_rows) {
        return Err(ApiError::invalid(
            "models.max_rows",
            format!("must be between 1 and 256, not {}", models.max_rows),
        ));
    }
    if !(0.0..=1e6).contains(&models.idle_timeout_min) {
        return Err(ApiError::invalid("models.idle_timeout_min", "must be between 0 and 1000000"));
    }
    if models.kv_bits.is_some_and(|bits| !matches!(bits, 4 | 8)) {
        return Err(ApiError::invalid("models.kv_bits", "must be 4, 8 or null"));
    }
    if server.port == Some(0) {
        return Err(ApiError::invalid("server.port", "must be between 1 and 65535, or null"));
    }
    if let Some(origin) = server.allowed_origins.iter().find(|origin| !is_origin(origin)) {
        return Err(ApiError::invalid(
            "server.allowed_origins",
            format!("{origin:?} is no origin; give one like https://app.example"),
        ));
    }
    if settings.cache.dir.as_deref().is_some_and(|dir| !std::path::Path::new(dir).is_absolute()) {
        return Err(ApiError::invalid("cache.dir", "must be a whole path, from the root on"));
    }
    if settings.mcp.config.as_deref().is_some_and(|path| !std::path::Path::new(path).is_absolute()) {
        return Err(ApiError::invalid("mcp.config", "must be a whole path, from the root on"));
    }
    let is_http = |url: &str| url.starts_with("http://") || url.starts_with("https://");
    if cloud.base_url.as_deref().is_some_and(|url| !is_http(url)) {
        return Err(ApiError::invalid("cloud.base_url", "must begin with https:// or http://"));
    }
    if cloud.is_on && (cloud.base_url.is_none() || cloud.model.is_none()) {
        return Err(ApiError::invalid("cloud.is_on", "needs cloud.base_url and cloud.model"));
    }
    Ok(())
}

fn is_origin(origin: &str) -> bool {
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', ' ', '?', '#']))
}

/// Fields in which two settings differ that count only from the next start on.
pub fn needs_restart(then: &Settings, now: &Settings) -> Vec<String> {
    let differs = |field: &str, is_other: bool| is_other.then(|| field.to_owned());
    let (a, b) = (then, now);
    [
        differs("server.port", a.server.port != b.server.port),
        differs("server.lan", a.server.lan != b.server.lan),
        differs("server.allowed_origins", a.server.allowed_origins != b.server.allowed_origins),
        differs("server.calls_per_minute", a.server.calls_per_minute != b.server.calls_per_minute),
        differs("models", a.models != b.models),
        differs("cache", a.cache != b.cache),
        differs("mcp", a.mcp != b.mcp),
    ]
    .into_iter()
    .flatten()
    .collect()
}
