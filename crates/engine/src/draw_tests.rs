use super::{splitmix64, uniform};

#[test]
fn splitmix64_gives_the_published_stream_of_seed_zero() {
    let gamma = 0x9e37_79b9_7f4a_7c15u64;
    let stream: Vec<u64> = (0..3).map(|i| splitmix64(gamma.wrapping_mul(i))).collect();
    assert_eq!(stream, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
}

#[test]
fn uniforms_fill_the_unit_interval_evenly_along_positions_and_seeds() {
    let along_positions = (0..10_000).map(|position| uniform(7, position)).collect();
    let along_seeds = (0..10_000).map(|seed| uniform(seed, 3)).collect();
    for draws in [along_positions, along_seeds] as [Vec<f32>; 2] {
        let mut counts = [0usize; 10];
        for draw in draws {
            assert!((0.0..1.0).contains(&draw), "{draw} is outside [0, 1)");
            counts[(draw * 10.0) as usize] += 1;
        }
        assert!(counts.iter().all(|n| (850..1150).contains(n)), "uneven: {counts:?}");
    }
}

#[test]
fn a_neighbouring_seed_is_not_the_same_stream_shifted() {
    let stream = |seed| (0..64).map(|position| uniform(seed, position)).collect::<Vec<_>>();
    let (a, b) = (stream(1), stream(2));
    assert!(a.iter().all(|draw| !b.contains(draw)));
}
