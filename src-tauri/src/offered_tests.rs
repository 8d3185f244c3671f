use tokbar_server::control::{Disk, Fit, Recommended};

use super::*;

fn model(id: &str, state: DiskState, verdict: Verdict) -> Model {
    let fit = Fit {
        verdict,
        n_context: 8192,
        need_bytes: 1,
        weight_bytes: 1,
        kv_bytes: 0,
        step_bytes: 0,
        drafter_bytes: 0,
        available_bytes: 1,
        n_context_max: None,
        words: String::new(),
    };
    let n_bytes = if state == DiskState::Absent { 0 } else { 7 };
    Model {
        id: id.to_owned(),
        name: id.rsplit('/').next().unwrap_or(id).to_owned(),
        aliases: Vec::new(),
        disk: Disk { state, n_bytes, ..Disk::default() },
        resident: None,
        transfer: None,
        fit: Some(fit),
        family: None,
        quantization: None,
        n_params: None,
        size_bytes: Some(5),
        n_context: None,
        capabilities: Vec::new(),
        can_run: true,
        is_known: true,
        decode_tps: None,
        notes: Vec::new(),
    }
}

#[test]
fn what_is_whole_can_be_started_and_what_fits_can_be_got() {
    use DiskState::{Absent, Broken, Partial, Ready};
    let (fits, tight, big) = (Verdict::Fits, Verdict::Tight, Verdict::TooBig);
    let unknown = Model { fit: None, ..model("o/unknown", Absent, fits) };
    let foreign = Model { can_run: false, ..model("o/foreign", Absent, fits) };
    let models = vec![
        model("o/z", Ready, big),
        model("o/a", Ready, fits),
        model("o/part", Partial, fits),
        model("o/broken", Broken, fits),
        model("o/small", Absent, fits),
        model("o/tight", Absent, tight),
        model("o/huge", Absent, big),
        unknown,
        foreign,
    ];
    let recommended = Recommended { smart: Some("o/small".to_owned()), ..Recommended::default() };
    let offers = Offers::from(Shelf { recommended, models, ..Shelf::default() });
    let offer = |name: &str, n_bytes: u64| Offer { name: name.to_owned(), n_bytes };
    assert_eq!(offers.here, [offer("o/a", 7), offer("o/z", 7)]);
    assert_eq!(offers.fitting, [offer("small", 5)]);
    assert_eq!(offers.recommended.as_deref(), Some("o/small"));
}
