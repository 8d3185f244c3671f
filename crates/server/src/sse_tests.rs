use super::*;

#[test]
fn line_breaks_stay_inside_a_frame() {
    let mut frames = Vec::new();
    event("x", &"a\n\nb\r", &mut frames);
    assert_eq!(frames, b"event: x\ndata: \"a\\n\\nb\\r\"\n\n");
}
