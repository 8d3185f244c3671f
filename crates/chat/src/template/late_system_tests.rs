use super::*;

fn says(role: Role, text: &str) -> Message {
    Message::new(role, text.to_owned())
}

fn texts(messages: &[Message]) -> Vec<(Role, &str)> {
    messages.iter().map(|message| (message.role, message.content.as_str())).collect()
}

#[test]
fn late_instructions_join_the_users_messages() {
    use Role::{Assistant, System, Tool, User};
    let turn = [says(System, "a"), says(System, "b"), says(User, "c"), says(System, "d")];
    let first = fold(&turn);
    let expected = [(System, "a\n\nb"), (User, "c\n\n<system-reminder>\nd\n</system-reminder>")];
    assert_eq!(texts(&first), expected);
    let later = [says(Assistant, "e"), says(Tool, "f"), says(System, "g"), says(User, "h")];
    let second = fold(&[turn.to_vec(), later.to_vec()].concat());
    assert_eq!(texts(&second[..2]), expected, "an earlier turn is a prefix of a later one");
    let rest = [(Assistant, "e"), (Tool, "f"), (User, "<system-reminder>\ng\n</system-reminder>\n\nh")];
    assert_eq!(texts(&second[2..]), rest);
}

#[test]
fn only_late_instructions_are_folded() {
    use Role::{System, User};
    assert!(!is_late(&[says(System, "a"), says(User, "b")]));
    assert!(is_late(&[says(System, "a"), says(System, "b")]));
    assert!(is_late(&[says(User, "a"), says(System, "b")]));
}
