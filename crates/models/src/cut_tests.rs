use tokbar_engine::{Row, RowInput, RowOutput, SequenceId, Step};

use super::cut;

/// Row, first token, length, start in the pass.
type Expected = (usize, usize, usize, usize);

/// Row lengths and the bound, to each pass's parts.
fn check(lengths: &[usize], n_max: usize, expected: &[&[Expected]]) {
    let row = |(id, n): (usize, &usize)| Row {
        sequence: SequenceId(id as u64),
        start: 0,
        input: if *n == 0 { RowInput::Pending } else { RowInput::Tokens(vec![1; *n]) },
        output: RowOutput::None,
    };
    let step = Step { rows: lengths.iter().enumerate().map(row).collect() };
    let passes: Vec<Vec<_>> = cut(&step, n_max)
        .iter()
        .map(|pass| pass.iter().map(|part| (part.row_idx, part.first, part.len, part.start)).collect())
        .collect();
    assert_eq!(passes, expected);
}

#[test]
fn steps_are_cut_in_order_and_bounded() {
    check(&[0, 0], 8, &[&[(0, 0, 1, 0), (1, 0, 1, 1)]]);
    check(&[8], 8, &[&[(0, 0, 8, 0)]]);
    check(&[9], 8, &[&[(0, 0, 8, 0)], &[(0, 8, 1, 0)]]);
    check(&[3, 10, 0], 8, &[&[(0, 0, 3, 0), (1, 0, 5, 3)], &[(1, 5, 5, 0), (2, 0, 1, 5)]]);
}
