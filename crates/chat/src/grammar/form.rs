//! Grammars of forms: JSON, a regular expression, a choice, or the client's own grammar.

use llguidance::regex_to_lark;
use llguidance::toktrie::TokEnv;
use serde_json::{Value, json};

use super::closing;
use super::compiler::Compiler;
use super::lark::{Lark, Spacing, any_of, literal};
use super::{GrammarError, LOOSER_MAX, looser, schema};
use crate::AnswerForm;

/// Longest regular expression or grammar.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Most texts to choose from.
const CHOICES_MAX: usize = 10_000;

/// A form that compiles.
#[derive(Clone, Debug)]
pub(super) enum FormGrammar {
    Json(Value),
    /// A terminal, slashes included.
    Regex(String),
    /// A grammar of its own.
    Lark(String),
    Choice(Vec<String>),
}

impl FormGrammar {
    /// Writes the form's rules, and returns what stands for it in a rule.
    pub fn write(&self, lark: &mut Lark) -> String {
        match self {
            Self::Json(schema) => lark.json(schema, Spacing::Free),
            Self::Regex(terminal) => terminal.clone(),
            Self::Lark(grammar) => lark.rule(&format!("%lark {{\n{grammar}\n}}")),
            Self::Choice(texts) => any_of(&texts.iter().map(|text| literal(text)).collect::<Vec<_>>()),
        }
    }

    /// By how many tokens one more may make the way to the form's end longer, roughly.
    pub fn reach(&self, env: &TokEnv) -> usize {
        match self {
            Self::Json(schema) => closing::reach(env, [schema]),
            Self::Regex(_) | Self::Lark(_) => closing::REACH,
            // Each is a way of its own, and no text leads from one to another.
            Self::Choice(texts) => texts.iter().map(String::len).max().unwrap_or(0),
        }
    }

    fn compiles(&self, compiler: &Compiler) -> Result<(), String> {
        let mut lark = Lark::default();
        let body = self.write(&mut lark);
        compiler.compile(&lark.finish(&body)).map(|_| ())
    }
}

/// Checks a form, and relaxes what the engine cannot do.
pub(super) fn ready(
    form: &AnswerForm,
    compiler: &Compiler,
    notices: &mut Vec<String>,
) -> Result<FormGrammar, GrammarError> {
    let wrong = |detail: String| GrammarError::Form { detail };
    let grammar = match form {
        AnswerForm::JsonObject => return Ok(FormGrammar::Json(json!({ "type": "object" }))),
        AnswerForm::JsonSchema(schema) => return ready_schema(schema, compiler, notices),
        AnswerForm::Regex(pattern) | AnswerForm::Lark(pattern) if pattern.len() > TEXT_BYTES_MAX => {
            return Err(wrong(format!("it has {} bytes, but may have {TEXT_BYTES_MAX}", pattern.len())));
        }
        AnswerForm::Regex(pattern) => {
            regex_syntax::parse(pattern).map_err(|error| wrong(regex_error(&error)))?;
            FormGrammar::Regex(format!("/{}/", regex_to_lark(pattern, "dw")))
        }
        AnswerForm::Lark(grammar) => {
            if grammar.contains("::=") {
                let detail = "it is GBNF or EBNF (`::=`); write it in Lark, with rules such as `start: \"a\" | \"b\"`";
                return Err(wrong(detail.to_owned()));
            }
            // On its own first, so that the places which errors name are the client's.
            compiler.compile(grammar).map_err(wrong)?;
            FormGrammar::Lark(grammar.clone())
        }
        AnswerForm::OneOf(texts) => {
            if texts.is_empty() || texts.len() > CHOICES_MAX || texts.iter().any(String::is_empty) {
                return Err(wrong(format!("it must be between 1 and {CHOICES_MAX} texts that are not empty")));
            }
            FormGrammar::Choice(texts.clone())
        }
    };
    grammar.compiles(compiler).map_err(wrong)?;
    Ok(grammar)
}

fn regex_error(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => format!("{} (at byte {})", error.kind(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => {
            format!("{} (at byte {})", error.kind(), error.span().start.offset)
        }
        other => other.to_string(),
    }
}

fn ready_schema(schema: &Value, compiler: &Compiler, notices: &mut Vec<String>) -> Result<FormGrammar, GrammarError> {
    let wrong = |detail: String| GrammarError::Form { detail };
    let ready = schema::ready(schema).map_err(|error| wrong(error.to_string()))?;
    notices.extend(ready.reports);
    let form = FormGrammar::Json(ready.schema.clone());
    let mut refusal = match form.compiles(compiler) {
        Ok(()) => return Ok(form),
        Err(refusal) => refusal,
    };
    if refusal.contains("Unsatisfiable") {
        return Err(wrong(format!("no value fits the schema: {refusal}")));
    }
    for rung in 0..LOOSER_MAX {
        let (schema, lost) = looser(&ready.schema, rung);
        let form = FormGrammar::Json(schema);
        match form.compiles(compiler) {
            Ok(()) => {
                notices.push(format!("{lost} are not enforced: {refusal}"));
                return Ok(form);
            }
            Err(error) => refusal = error,
        }
    }
    Err(wrong(refusal))
}
