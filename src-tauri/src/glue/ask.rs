//! A question before there is an app: in the system's own dialog.

/// Asks, and tells whether the answer was `yes` rather than `no`. On the main thread, before the app's own windows.
#[must_use]
pub fn ask(title: &str, text: &str, (yes, no): (&str, &str)) -> bool {
    let buttons = rfd::MessageButtons::OkCancelCustom(yes.to_owned(), no.to_owned());
    let dialog = rfd::MessageDialog::new().set_level(rfd::MessageLevel::Warning).set_title(title);
    let answer = dialog.set_description(text).set_buttons(buttons).show();
    answer == rfd::MessageDialogResult::Custom(yes.to_owned()) || answer == rfd::MessageDialogResult::Ok
}
