use super::*;

fn check_refused(settings: ModelSettings, field: &str) {
    match check(&settings) {
        Err(ApiError::Invalid { param, .. }) => assert_eq!(param, field),
        other => panic!("{settings:?}: {other:?}"),
    }
}

#[test]
fn values_of_no_use_are_refused_by_name() {
    let usual = ModelSettings::default;
    check_refused(ModelSettings { kv_bits: Some(5), ..usual() }, "kv_bits");
    check_refused(ModelSettings { max_rows: Some(0), ..usual() }, "max_rows");
    check_refused(ModelSettings { n_context: Some(3), ..usual() }, "n_context");
    check_refused(ModelSettings { speculation: Some("often".to_owned()), ..usual() }, "speculation");
    check_refused(ModelSettings { tool_format: Some("morse".to_owned()), ..usual() }, "tool_format");
    check_refused(ModelSettings { reasoning_format: Some("morse".to_owned()), ..usual() }, "reasoning_format");
    check(&usual()).unwrap();
}

#[test]
fn only_what_was_decided_is_laid_over() {
    let mut args = ModelArgs::named("a/b");
    lay_over(&mut args, &ModelSettings::default());
    assert_eq!(format!("{args:?}"), format!("{:?}", ModelArgs::named("a/b")));
    let own = ModelSettings {
        n_context: Some(4096),
        kv_bits: Some(8),
        speculation: Some("off".to_owned()),
        max_rows: Some(2),
        tool_format: Some("none".to_owned()),
        ..ModelSettings::default()
    };
    check(&own).unwrap();
    lay_over(&mut args, &own);
    assert_eq!((args.max_context, args.kv_bits, args.max_rows), (Some(4096), Some(KvBitsArg::Eight), 2));
    assert_eq!(args.draft.speculation, SpeculationArg::Off);
    assert_eq!(args.format.tool_call_parser.as_deref(), Some("none"));
}
