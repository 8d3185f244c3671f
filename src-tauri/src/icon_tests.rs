use super::*;
use crate::menu::Loaded;

const SHAPES: [Shape; 5] = [Shape::Stopped, Shape::Loading, Shape::Serving, Shape::Busy, Shape::Attention];

#[test]
fn shapes_differ_and_have_no_colour() {
    let images = SHAPES.map(template);
    for (idx, image) in images.iter().enumerate() {
        assert_eq!((image.width(), image.height()), (36, 36));
        let mut n_covered = 0;
        for pixel in image.rgba().chunks_exact(4) {
            assert!(pixel[3] == 0 || pixel[..3] == [0, 0, 0], "{:?} has a colour: {pixel:?}", SHAPES[idx]);
            n_covered += usize::from(pixel[3] > 128);
        }
        assert!((100..800).contains(&n_covered), "{:?} covers {n_covered} pixels", SHAPES[idx]);
        let others = images.iter().skip(idx + 1);
        assert!(others.clone().all(|other| alpha(other) != alpha(image)));
    }
}

fn alpha(image: &Image<'_>) -> Vec<bool> {
    image.rgba().chunks_exact(4).map(|pixel| pixel[3] > 128).collect()
}

#[test]
fn the_shape_tells_the_state() {
    let with = |phase| Live {
        models: vec![Loaded { name: "m".to_owned(), n_bytes: 1, is_pinned: false, phase }],
        ..Live::default()
    };
    let trouble = Some(Trouble::NotServing(String::new()));
    for (live, expected) in [
        (Live::default(), Shape::Stopped),
        (with(Phase::Leaving), Shape::Stopped),
        (with(Phase::Loading { percent: 1 }), Shape::Loading),
        (with(Phase::Ready), Shape::Serving),
        (with(Phase::Prefill { percent: None }), Shape::Busy),
        (with(Phase::Decode { tokens_per_s: 1.0 }), Shape::Busy),
        (Live { trouble, ..Live::default() }, Shape::Attention),
    ] {
        assert_eq!(Shape::of(&live), expected);
    }
}
