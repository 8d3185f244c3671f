//! Notifications: few, and only for what a person would want to know while the app is out of sight.

use tokbar_server::control::{Transfer, TransferState};
use tokbar_server::{Level, Resident, ResidentState};

use crate::updates::Standing;

/// Something to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// A model went because memory was very short.
    Unloaded(String),
    /// A model was downloaded.
    Downloaded(String),
    /// A model was not downloaded, and why.
    DownloadFailed(String, String),
    /// An update of this version can be installed.
    UpdateReady(String),
}

/// What became of transfers that were not over at the look before, and are now.
pub fn ended(before: &[Transfer], now: &[Transfer]) -> Vec<News> {
    let news = |now: &Transfer| match now.state {
        TransferState::Done => Some(News::Downloaded(now.model.clone())),
        TransferState::Failed => Some(News::DownloadFailed(now.model.clone(), now.error.clone().unwrap_or_default())),
        _ => None,
    };
    let is_known = |now: &&Transfer| before.iter().any(|before| before.id == now.id && before.state == now.state);
    now.iter().filter(|now| !is_known(now)).filter_map(news).collect()
}

/// What happened between two looks that a person did not ask for.
pub fn news(before: &[Resident], after: &[Resident], pressure: Level) -> Vec<News> {
    if pressure != Level::Critical {
        return Vec::new();
    }
    let is_gone = |id: &str| !after.iter().any(|model| model.id == id && model.state != ResidentState::Leaving);
    let gone = before.iter().filter(|model| model.state == ResidentState::Ready && is_gone(&model.id));
    gone.map(|model| News::Unloaded(model.id.clone())).collect()
}

/// An update that can be installed, unless its version was told before.
pub fn update(standing: &Standing, told: &mut Option<String>) -> Option<News> {
    let Standing::Ready { version, .. } = standing else { return None };
    let is_new = told.as_ref() != Some(version);
    *told = Some(version.clone());
    is_new.then(|| News::UpdateReady(version.clone()))
}

/// Tells the system.
///
/// # Errors
/// When nobody shows notifications.
#[cfg(target_os = "linux")]
pub fn show(title: &str, text: &str) -> anyhow::Result<()> {
    use std::collections::HashMap;
    let bus = zbus::blocking::Connection::session()?;
    let hints: HashMap<&str, zbus::zvariant::Value<'_>> = HashMap::from([("desktop-entry", "tokbar".into())]);
    let actions: [&str; 0] = [];
    let message = ("Tokbar", 0_u32, "tokbar", title, text, &actions[..], hints, -1_i32);
    let (name, path) = ("org.freedesktop.Notifications", "/org/freedesktop/Notifications");
    bus.call_method(Some(name), path, Some(name), "Notify", &message)?;
    Ok(())
}

/// Tells the system, which asks the person once whether Tokbar may.
///
/// # Errors
/// When this is no app: the system then ends a program that asks.
#[cfg(target_os = "macos")]
pub fn show(title: &str, text: &str) -> anyhow::Result<()> {
    use block2::RcBlock;
    use objc2::runtime::Bool;
    use objc2_foundation::{NSBundle, NSString, NSUUID};
    use objc2_user_notifications::{
        UNAuthorizationOptions, UNMutableNotificationContent, UNNotificationRequest, UNUserNotificationCenter,
    };
    anyhow::ensure!(NSBundle::mainBundle().bundleIdentifier().is_some(), "only an installed app has notifications");
    let content = UNMutableNotificationContent::new();
    content.setTitle(&NSString::from_str(title));
    content.setBody(&NSString::from_str(text));
    let id = NSUUID::UUID().UUIDString();
    let request = UNNotificationRequest::requestWithIdentifier_content_trigger(&id, &content, None);
    let answered = RcBlock::new(move |is_granted: Bool, _| match is_granted.as_bool() {
        true => UNUserNotificationCenter::currentNotificationCenter()
            .addNotificationRequest_withCompletionHandler(&request, None),
        false => tracing::debug!("notifications are not wanted"),
    });
    UNUserNotificationCenter::currentNotificationCenter()
        .requestAuthorizationWithOptions_completionHandler(UNAuthorizationOptions::Alert, &answered);
    Ok(())
}

#[cfg(test)]
#[path = "notify_tests.rs"]
mod tests;
