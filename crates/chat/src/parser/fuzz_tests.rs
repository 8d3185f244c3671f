//! Random mixtures of markup and text.

use proptest::{collection::vec, prelude::*, sample::select, test_runner::FileFailurePersistence};

use super::{Case, FinishReason, cases, check_arguments, parse, pieces};
use crate::OutputFormat;

/// What calls are made of, besides the format's own terminals.
const FRAGMENTS: [&str; 40] = [
    "zip",
    "noop",
    "zip_all",
    "nope",
    "path",
    "n",
    "text ",
    "é",
    "中",
    "😀",
    " ",
    "\n",
    "\n\n",
    "\t",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ":",
    ",",
    "\\",
    "\\u00",
    "\\n",
    "<",
    ">",
    "/",
    "|",
    "5",
    "-1.5",
    "true",
    "None",
    "\"name\": \"zip\"",
    "\"arguments\": {",
    "\"path\": \"",
    "<think>",
    "</think>",
    "functions.zip:0",
    "assistant to=functions.zip",
];

/// A format and a wire text made for it: a beginning that opens a call, or none, and fragments.
fn wires() -> impl Strategy<Value = (&'static str, String)> {
    select(cases::openings().to_vec()).prop_flat_map(|(format, opening)| {
        let terminals =
            OutputFormat::tool_format(format).map(|format| OutputFormat { tools: Some(format), reasoning: None });
        let terminals: Vec<&str> =
            terminals.into_iter().flat_map(|format| format.terminals().collect::<Vec<_>>()).collect();
        let fragment = prop_oneof![select(terminals), select(FRAGMENTS.to_vec())];
        let start = select(vec!["", opening]);
        (Just(format), start, vec(fragment, 0..24))
            .prop_map(|(format, start, rest)| (format, start.to_owned() + &rest.concat()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::with_cases(1000)
    })]

    #[test]
    fn any_wire_parses_alike_however_it_is_cut((format, wire) in wires(), cuts in any::<u64>()) {
        let case = Case { format, prompt_tail: "", wire: "", events: "" };
        for reason in [FinishReason::Stop, FinishReason::Length] {
            let whole = parse(&case, std::iter::once(wire.as_str()), reason);
            let each = parse(&case, pieces(&wire, |_| true).into_iter(), reason);
            prop_assert_eq!(&whole, &each, "{} {:?}", format, wire);
            let some = parse(&case, pieces(&wire, |at| cuts >> (at % 64) & 1 == 1).into_iter(), reason);
            prop_assert_eq!(&whole, &some, "{} {:?} {:b}", format, wire, cuts);
        }
        check_arguments(&case, &wire);
    }
}
