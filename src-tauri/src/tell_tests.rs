use super::*;
use crate::words::Language;

#[test]
fn each_news_names_its_subject_and_what_to_do() {
    let words = Language::English.words();
    for (news, title, text) in [
        (News::Unloaded("a/B".to_owned()), "a/B was unloaded", "Close other programs"),
        (News::Downloaded("a/B".to_owned()), "a/B is here", "from the menu"),
        (
            News::DownloadFailed("a/B".to_owned(), "the disk is full".to_owned()),
            "a/B was not downloaded",
            "disk is full",
        ),
        (News::UpdateReady("1.2.3".to_owned()), "Tokbar 1.2.3 is ready to install.", "in Tokbar's menu"),
    ] {
        let (seen_title, seen_text) = notification(&news, words);
        assert_eq!(seen_title, title);
        assert!(seen_text.contains(text), "{seen_text}");
    }
}

#[test]
fn each_standing_is_one_sentence_in_both_languages() {
    let version = || "1.2.3".to_owned();
    let all = [
        (Standing::Unknown, "Looking for updates…"),
        (Standing::Looking, "Looking for updates…"),
        (Standing::UpToDate, "Tokbar 1.0.0 is the newest version."),
        (
            Standing::Waiting { version: version(), why: "2 downloads are running".to_owned() },
            "Tokbar 1.2.3 is there and waits: 2 downloads are running",
        ),
        (
            Standing::Ready { version: version(), notes: "all".to_owned() },
            "Tokbar 1.2.3 is ready to install. Choose “Restart to Update to 1.2.3” in Tokbar's menu.",
        ),
        (Standing::Failed("no line".to_owned()), "There is no update: no line"),
    ];
    for (known, expected) in &all {
        assert_eq!(standing(known, "1.0.0", Language::English.words()), *expected);
        assert!(!standing(known, "1.0.0", Language::Chinese.words()).is_empty());
    }
}
