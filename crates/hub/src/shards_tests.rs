use super::*;
use crate::safetensors::Header;

fn slot(name: &str, dtype: Dtype, shape: &[usize]) -> Slot {
    Slot { name: name.into(), dtype, shape: shape.into() }
}

#[test]
fn what_is_written_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.safetensors");
    let slots = [slot("a", Dtype::U32, &[2, 2]), slot("b \"x\"", Dtype::F16, &[3]), slot("c", Dtype::F16, &[1])];
    let mut shard = ShardWriter::create(&path, &slots).unwrap();
    let a = shard.add(slots[0].clone());
    let b = shard.add(slots[1].clone());
    shard.write(a, 8, &[7; 8]).unwrap();
    shard.write(b, 0, &[1, 0, 2, 0, 3, 0]).unwrap();
    shard.retype_last(Dtype::F32);
    shard.write(b, 0, &[9; 12]).unwrap();
    let c = shard.add(slots[2].clone());
    shard.write(c, 0, &[5, 6]).unwrap();
    shard.finish().unwrap();

    let header = Header::read(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let data = |name: &str| {
        let info = &header.tensors[name];
        bytes[info.offset as usize..][..info.n_bytes as usize].to_vec()
    };
    assert_eq!(header.metadata["format"], "mlx");
    assert_eq!(header.tensors["a"].offset % 8, 0);
    assert_eq!(data("a"), [[0; 8], [7; 8]].concat());
    assert_eq!((header.tensors["b \"x\""].dtype, data("b \"x\"")), (Dtype::F32, vec![9; 12]));
    assert_eq!(data("c"), [5, 6]);
    assert!(ShardWriter::create(&path, &slots).is_err(), "an existing file is not overwritten");
}
