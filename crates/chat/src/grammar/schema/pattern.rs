//! Regular expressions of schemas, which are JavaScript's.

use llguidance::derivre::{RegexAst, RegexBuilder};
use llguidance::regex_to_lark;
use regex_syntax::ast::{self, ErrorKind};

/// Longest pattern.
const BYTES_MAX: usize = 64 << 10;

/// `None` when the pattern can be enforced, else why not.
///
/// # Errors
/// When it is no regular expression in any dialect.
pub(super) fn check(pattern: &str) -> Result<Option<String>, String> {
    if pattern.len() > BYTES_MAX {
        return Ok(Some(format!("it is longer than {BYTES_MAX} bytes")));
    }
    if let Err(error) = ast::parse::Parser::new().parse(pattern) {
        let broken = matches!(
            error.kind(),
            ErrorKind::ClassUnclosed
                | ErrorKind::ClassRangeInvalid
                | ErrorKind::EscapeUnexpectedEof
                | ErrorKind::GroupUnclosed
                | ErrorKind::GroupUnopened
                | ErrorKind::RepetitionCountInvalid
        );
        // JavaScript takes a brace that repeats nothing as a brace.
        let broken = broken || (*error.kind() == ErrorKind::RepetitionMissing && !pattern.contains('{'));
        let detail = format!("the pattern {pattern:?} is no regular expression: {}", error.kind());
        return if broken { Err(detail) } else { Ok(Some(error.kind().to_string())) };
    }
    let pattern = RegexAst::SearchRegex(regex_to_lark(pattern, "dw"));
    Ok(RegexBuilder::new().mk(&pattern).err().map(|error| error.to_string()))
}
