use super::{BytesError, Owner};
use crate::cache::run::Piece;
use crate::cache::template::Template;
use crate::cache::{CacheKind, KvQuantization, Layout, SequenceCache, Stored};
use crate::fixtures::uniforms;
use crate::mx::{self, Array};

const DIM: i32 = 64;

fn used(layout: &std::rc::Rc<Layout>, n: usize) -> SequenceCache {
    let mut cache = SequenceCache::new(layout);
    cache.begin(n);
    for (layer_idx, kind) in layout.kinds().iter().enumerate() {
        let numbers: Vec<f32> = uniforms(&format!("{layer_idx}")).take(4 * n * DIM as usize).collect();
        match kind {
            CacheKind::State => cache.state(layer_idx).unwrap().set(vec![Array::from_slice(&numbers[..6], &[2, 3])]),
            _ => drop(cache.append(layer_idx, &Array::from_slice(&numbers, &[4, n as i32, DIM])).unwrap()),
        }
    }
    cache
}

fn elements(piece: &Piece) -> Vec<f32> {
    let mut all = Vec::new();
    for layer_idx in 0..piece.run().n_layers() {
        let (keys, values) = piece.run().read(layer_idx, piece.range()).unwrap();
        for stored in [keys, values] {
            all.extend(match stored {
                Stored::Dense(array) => mx::to_f32(&array).unwrap(),
                Stored::Packed(packed) => mx::to_f32(&mx::dequantize(&packed, mx::Dtype::Float32).unwrap()).unwrap(),
            });
        }
    }
    all
}

fn with_owner<T>(quantization: Option<KvQuantization>, test: impl FnOnce(&Owner<'_>, &SequenceCache) -> T) -> T {
    let kinds = [CacheKind::Full, CacheKind::Rotating { window: 8 }, CacheKind::State, CacheKind::Full];
    let template = Template::of(&used(&Layout::new(&kinds, None), 1));
    let layout = Layout::new(&kinds, quantization);
    let cache = used(&layout, 20);
    test(&Owner { fingerprint: "f", n_context: 100, layout: &layout, template: &template }, &cache)
}

#[test]
fn blocks_and_snapshots_come_back_as_they_were() {
    let packed = |bits, min_length| Some(KvQuantization { bits, min_length });
    for quantization in [None, packed(8, 0), packed(4, 0), packed(8, 11)] {
        with_owner(quantization, |owner, cache| {
            let pieces = cache.pieces(&(3..17));
            let back = owner.import_block(&owner.export_block(&pieces).unwrap()).unwrap();
            assert_eq!(back.len(), pieces.len());
            for (back, piece) in back.iter().zip(&pieces) {
                assert_eq!((back.range(), back.run().format()), (piece.range(), piece.run().format()));
                assert_eq!(elements(back), elements(piece));
            }
            let snapshot = cache.snapshot().unwrap();
            let back = owner.import_snapshot(&owner.export_snapshot(&snapshot).unwrap()).unwrap();
            assert_eq!(back.n_positions, 20);
            for (back, layer) in back.layers.iter().zip(&snapshot.layers) {
                let numbers = |arrays: &[Array]| arrays.iter().map(|a| mx::to_f32(a).unwrap()).collect::<Vec<_>>();
                assert_eq!((back.start, numbers(&back.arrays)), (layer.start, numbers(&layer.arrays)));
            }
            let n_bytes: usize = snapshot.arrays().map(Array::nbytes).sum();
            assert_eq!(owner.template.snapshot_bytes(100), n_bytes);
        });
    }
}

#[test]
fn hostile_bytes_are_refused() {
    with_owner(Some(KvQuantization { bits: 8, min_length: 11 }), |owner, cache| {
        let block = owner.export_block(&cache.pieces(&(3..17))).unwrap();
        let snapshot = owner.export_snapshot(&cache.snapshot().unwrap()).unwrap();
        assert!(owner.import_snapshot(&block).is_err() && owner.import_block(&snapshot).is_err());
        let edits: &[(&str, &str, &str)] = &[
            ("\"version\":1", "\"version\":9", "has version 9"),
            ("\"fingerprint\":\"f\"", "\"fingerprint\":\"g\"", "from another model"),
            ("\"start\":3", "\"start\":9", "not those of this model"),
            ("\"stop\":11", "\"stop\":10", "cannot be"),
            ("\"stop\":17", "\"stop\":99", "not those of this model"),
            ("\"bits\":8", "\"bits\":4", "are not stored as"),
            ("\"dtype\":\"U32\"", "\"dtype\":\"F32\"", "not those of this model"),
            ("[4,6,16]", "[4,6,99]", "not those of this model"),
            ("[4,6,16]", "[-4,-16]", "not those of this model"),
        ];
        for (old, new, expected) in edits {
            let at = block.windows(old.len()).position(|bytes| bytes == old.as_bytes()).unwrap();
            let mut spoilt = block.clone();
            let new = format!("{new:<width$}", width = old.len());
            spoilt.splice(at..at + old.len(), new.bytes());
            match owner.import_block(&spoilt) {
                Err(BytesError::Foreign(detail)) => assert!(detail.contains(expected), "{expected}: {detail}"),
                other => panic!("{expected}: {:?}", other.map(|_| ())),
            }
        }
        let n_header = block.iter().position(|b| *b == b'{').unwrap() + 400;
        for n in (0..n_header).chain([block.len() - 1]) {
            assert!(owner.import_block(&block[..n]).is_err(), "{n} bytes");
        }
        assert!(owner.import_block(&[&block[..], b"x"].concat()).is_err());
        let mut dice = uniforms("hostile");
        for _ in 0..2000 {
            let mut spoilt = if dice.next().unwrap() < 0.5 { block.clone() } else { snapshot.clone() };
            for _ in 0..3 {
                let at = (dice.next().unwrap() * n_header as f32) as usize;
                spoilt[at] = (dice.next().unwrap() * 256.0) as u8;
            }
            // Any answer will do, as long as there is one.
            drop((owner.import_block(&spoilt), owner.import_snapshot(&spoilt)));
        }
    });
}
