use super::*;

/// The masks of blocks, as cut out of one and as made each by itself.
fn check(reach: Reach, spans: &[(usize, usize, usize)]) {
    let mut stairs: Vec<Stairs> = Vec::new();
    for &(k_start, q_start, q_stop) in spans {
        let span = Span { q_start, q_stop, k_start, k_stop: q_stop, reach };
        if !stairs.iter().any(|stairs| stairs.covers(&span)) {
            stairs.push(Stairs::new(span, 40));
        }
        let cut = stairs.iter().find(|stairs| stairs.covers(&span)).unwrap().cut(&span).unwrap();
        assert_eq!(cut.shape(), span.shape());
        let expected = span.cells(0.0_f32, f32::NEG_INFINITY);
        assert_eq!(mx::to_f32(&cut).unwrap(), expected, "{reach:?} {span:?}");
    }
    let is_movable = !matches!(reach, Reach::Chunk(_));
    assert!(stairs.len() < spans.len() || !is_movable, "blocks share a mask");
}

#[test]
fn masks_cut_out_are_those_made_alone() {
    check(Reach::All, &[(0, 0, 8), (0, 8, 16), (0, 30, 33), (0, 0, 1), (0, 3, 12)]);
    check(Reach::Window(6), &[(0, 0, 8), (3, 8, 16), (25, 30, 33), (9, 14, 22)]);
    check(Reach::Window(2), &[(0, 5, 9), (7, 8, 12), (0, 1, 4)]);
    check(Reach::Chunk(5), &[(0, 0, 8), (5, 8, 16), (0, 8, 16), (30, 30, 33)]);
}
