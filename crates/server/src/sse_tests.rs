use std::time::Duration;

use super::*;

/// Virtual time: the paused clock moves when nothing else can.
#[tokio::test(start_paused = true)]
async fn silences_are_filled_with_comments() {
    let frames = stream::iter([1, 25, 0, 9]).then(|seconds| async move {
        let silence = tokio::time::timeout(Duration::from_secs(seconds), std::future::pending::<()>()).await;
        assert!(silence.is_err());
        Bytes::from(format!("data: {seconds}\n\n"))
    });
    let filled: Vec<Bytes> = with_keep_alive(frames.boxed(), Duration::from_secs(10)).collect().await;
    let expected =
        ["data: 1\n\n", ": keep-alive\n\n", ": keep-alive\n\n", "data: 25\n\n", "data: 0\n\n", "data: 9\n\n"];
    assert_eq!(filled, expected);
}

#[test]
fn line_breaks_stay_inside_a_frame() {
    let mut frames = Vec::new();
    data(&"a\n\nb\r", &mut frames);
    assert_eq!(frames, b"data: \"a\\n\\nb\\r\"\n\n");
}
