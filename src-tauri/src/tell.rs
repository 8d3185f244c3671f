//! What notifications and answers about updates say.

use crate::glue::notify::News;
use crate::updates::Standing;
use crate::words::{Words, fill};

/// Title and text of a notification.
pub fn notification(news: &News, words: &Words) -> (String, String) {
    let (title, name, text) = match news {
        News::Unloaded(model) => (words.unloaded_title, model, words.unloaded_text.to_owned()),
        News::Downloaded(model) => (words.downloaded_title, model, words.downloaded_text.to_owned()),
        News::DownloadFailed(model, why) => (words.download_failed, model, why.clone()),
        News::UpdateReady(version) => (words.update_ready, version, fill(words.update_ready_text, &[version])),
    };
    (fill(title, &[name]), text)
}

/// What is known of updates, in a sentence; `version` is the one that runs.
pub fn standing(standing: &Standing, version: &str, words: &Words) -> String {
    match standing {
        Standing::Unknown | Standing::Looking => words.update_looking.to_owned(),
        Standing::UpToDate => fill(words.update_none, &[version]),
        Standing::Waiting { version, why } => fill(words.update_waiting, &[version, why]),
        Standing::Ready { version, .. } => {
            [words.update_ready, words.update_ready_text].map(|text| fill(text, &[version])).join(" ")
        }
        Standing::Failed(why) => fill(words.update_failed, &[why]),
    }
}

#[cfg(test)]
#[path = "tell_tests.rs"]
mod tests;
