use super::*;

#[test]
fn long_texts_keep_both_ends() {
    assert_eq!(shortened("éééé", 4), "éééé");
    assert_eq!(shortened("aéééb", 4), "aé … éb");
}

#[test]
fn what_a_caller_is_told_is_bounded() {
    let long = "x".repeat(1 << 20);
    let error = ApiError::UnknownModel { name: long.clone(), served: vec!["tiny".to_owned()] };
    let message = error.message();
    assert!(message.len() < 3 * N_MESSAGE_CHARS_MAX && message.ends_with("use \"default\" or \"tiny\""), "{message}");
    let error = ApiError::invalid(format!("logit_bias.{long}"), "must be a number");
    assert!(error.param().unwrap().len() < 2 * N_PARAM_CHARS_MAX);
    assert!(error.message().ends_with("` must be a number"));
}
