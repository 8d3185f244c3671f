use super::*;

const STREAM: &str = ": hello\n\ndata: {\"a\":1}\n\nevent: x\r\nid: 3\r\ndata:first\r\ndata: sec\u{f6}nd\r\n\r\n: keepalive\n\ndata: [DONE]\n\ndata: cut off";

fn read(pieces: impl Iterator<Item = Vec<u8>>) -> Vec<String> {
    let (mut reader, mut events) = (EventReader::default(), Vec::new());
    for piece in pieces {
        reader.feed(&piece, &mut events).expect("short lines");
    }
    events
}

#[test]
fn events_come_out_whole_however_they_are_cut() {
    for size in [1, 2, 3, 7, STREAM.len()] {
        let events = read(STREAM.as_bytes().chunks(size).map(<[u8]>::to_vec));
        assert_eq!(events, ["{\"a\":1}", "first\nsec\u{f6}nd", "[DONE]"], "pieces of {size}");
    }
}

#[test]
fn a_line_without_end_is_refused() {
    let (mut reader, mut events) = (EventReader::default(), Vec::new());
    let piece = vec![b'x'; N_LINE_BYTES_MAX];
    assert_eq!(reader.feed(&piece, &mut events), Ok(()));
    assert_eq!(reader.feed(b"x", &mut events), Err(LineTooLong));
}
