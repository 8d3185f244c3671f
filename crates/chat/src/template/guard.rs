//! Puts checks into a compiled template: what makes a list or object, or looks into one, goes through filters of ours that
//! weigh it and charge for it.

use std::collections::BTreeSet;

use minijinja::{
    Environment, Error, ErrorKind, Output, State, Value, escape_formatter,
    machinery::{Instruction, Instructions, Token, tokenize},
    syntax::SyntaxConfig,
    value::{Rest, ValueKind, ValueOrKwargs},
};

use super::{charges, held};

/// Our filters. Each takes what stands on the engine's stack; for `CALL`, `TEST` and `METHOD` the name comes last.
const MADE: &str = "__made";
const READ: &str = "__read";
const MAP: &str = "__map";
const CONCAT: &str = "__concat";
const CALL: &str = "__filter";
const TEST: &str = "__test";
const METHOD: &str = "__method";
/// No number by which the engine remembers a filter.
const NOT_REMEMBERED: u8 = u8::MAX;
/// Filters that look at no more than their text, and make nothing.
const CHEAP_FILTERS: [&str; 11] =
    ["abs", "bool", "count", "d", "default", "first", "float", "int", "last", "length", "round"];
/// Tests that look into what they get.
const DEEP_TESTS: [&str; 21] = [
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "endingwith",
    "eq",
    "equalto",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "le",
    "lessthan",
    "lower",
    "lt",
    "ne",
    "sameas",
    "startingwith",
    "upper",
];
/// Longest constant that is compared without a look at it.
const CONSTANT_BYTES_MAX: usize = 1024;
/// Longest template, in bytes. The longest known has under 40 kB; the compiler counts columns in 16 bits, and nothing that
/// recurses over one this long leaves its stack.
const SOURCE_BYTES_MAX: usize = 65_000;
/// Most tokens of one expression or statement: the time to compile it grows with their square. The most known are 70.
const N_TOKENS_MAX: usize = 1000;
/// What minijinja has beyond Jinja2, and a printer whose output grows with the nesting.
const NOT_JINJA: [&str; 3] = ["chain", "pprint", "zip"];

/// Adds the filters; no value may be heavier than `weight_max`.
pub(super) fn add_filters(environment: &mut Environment<'_>, weight_max: u64) {
    environment.add_filter(MADE, move |state: &State, value: Value| held::made(state, value, weight_max));
    environment.add_filter(READ, move |state: &State, value: Value| {
        charges::pay(state, held::weigh(&value, weight_max)?.weight)?;
        Ok::<_, Error>(value)
    });
    environment.add_filter(MAP, move |state: &State, parts: Rest<Value>| held::made(state, map(&parts)?, weight_max));
    environment.add_filter(CONCAT, move |state: &State, left: Value, right: Value| {
        // Text is charged for by the engine.
        for part in [&left, &right].into_iter().filter(|part| part.as_str().is_none()) {
            charges::pay(state, held::weigh(part, weight_max)?.weight)?;
        }
        held::made(state, Value::from(format!("{left}{right}")), weight_max)
    });
    environment.add_filter(CALL, move |state: &mut State, args: Rest<ValueOrKwargs>| {
        let (name, args) = named(args)?;
        charges::pay(state, charges::of_filter(&name, &args, weight_max)?)?;
        let result = state.apply_filter(&name, &args).map_err(|error| unknown(error, "filter", &name))?;
        held::made(state, result, weight_max)
    });
    environment.add_filter(TEST, move |state: &mut State, args: Rest<ValueOrKwargs>| {
        let (name, args) = named(args)?;
        charges::pay(state, charges::of_test(&name, &args, weight_max)?)?;
        state.perform_test(&name, &args).map_err(|error| unknown(error, "test", &name))
    });
    environment.add_filter(METHOD, move |state: &mut State, args: Rest<ValueOrKwargs>| {
        let (name, args) = named(args)?;
        charges::pay(state, charges::of_method(&name, &args, weight_max)?)?;
        let Some((receiver, rest)) = args.split_first() else { return Ok(Value::UNDEFINED) };
        let result = receiver.call_method(state, &name, rest)?;
        held::made(state, result, weight_max)
    });
    environment.set_formatter(move |out: &mut Output, state: &mut State, value: &Value| {
        if value.as_object().is_some_and(held::is_alive) {
            held::weigh(value, weight_max)?;
        }
        escape_formatter(out, state, value)
    });
    environment.remove_global("debug");
    NOT_JINJA.iter().for_each(|name| environment.remove_filter(name));
}

/// A name and the arguments before it.
fn named(args: Rest<ValueOrKwargs>) -> Result<(String, Vec<Value>), Error> {
    let mut args: Vec<Value> = args.0.into_iter().map(ValueOrKwargs::into_value).collect();
    let name = args.pop().and_then(|name| name.as_str().map(str::to_owned));
    name.map(|name| (name, args)).ok_or_else(|| Error::new(ErrorKind::MissingArgument, "a call without a name"))
}

fn unknown(error: Error, kind: &str, name: &str) -> Error {
    match error.kind() {
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest if error.detail().is_none() => {
            Error::new(error.kind(), format!("{kind} {name} is unknown"))
        }
        _ => error,
    }
}

/// An object of keys and values in turn. As in Python, keys are plain values.
fn map(parts: &[Value]) -> Result<Value, Error> {
    let is_plain = |key: &Value| !matches!(key.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map);
    match parts.chunks(2).find(|pair| !is_plain(&pair[0])) {
        Some(pair) => Err(Error::new(ErrorKind::InvalidOperation, format!("a {} cannot be a key", pair[0].kind()))),
        None => Ok(Value::from_pairs(parts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())))),
    }
}

/// Looks whether a template can be compiled in bounded time.
///
/// # Errors
/// Tells what is too long.
pub(super) fn check_source(source: &str, syntax: &SyntaxConfig) -> Result<(), String> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(format!("it has {} bytes, and no more than {SOURCE_BYTES_MAX} are read", source.len()));
    }
    let mut n_tokens = 0;
    // The compiler tells of tokens that are none.
    for (token, span) in tokenize(source, false, syntax.clone()).map_while(Result::ok) {
        n_tokens = if matches!(token, Token::VariableStart | Token::BlockStart) { 0 } else { n_tokens + 1 };
        if n_tokens > N_TOKENS_MAX {
            return Err(format!("the expression in line {} has more than {N_TOKENS_MAX} parts", span.start_line));
        }
    }
    Ok(())
}

/// The instructions with checks.
pub(super) fn guard<'a>(plain: &Instructions<'a>) -> Instructions<'a> {
    let count = (0..).take_while(|idx| plain.get(*idx).is_some()).count() as u32;
    let targets: BTreeSet<u32> = (0..count).filter_map(|idx| target(plain.get(idx)?)).collect();
    let mut code: Vec<(Instruction<'a>, u32)> = Vec::with_capacity(count as usize * 2);
    let mut places = Vec::with_capacity(count as usize + 1);
    for idx in 0..count {
        places.push(code.len() as u32);
        let Some(instruction) = plain.get(idx) else { break };
        let before = idx.checked_sub(1).filter(|_| !targets.contains(&idx)).and_then(|before| plain.get(before));
        let constant = match before {
            Some(Instruction::LoadConst(value)) => Some(value),
            _ => None,
        };
        code.extend(guarded(instruction, constant).into_iter().map(|instruction| (instruction, idx)));
    }
    places.push(code.len() as u32);
    let mut guarded = Instructions::new(plain.name(), plain.source());
    for (mut instruction, idx) in code {
        if let Some(place) = target(&instruction).and_then(|target| places.get(target as usize)) {
            set_target(&mut instruction, *place);
        }
        match (plain.get_span(idx), plain.get_line(idx)) {
            (Some(span), _) => guarded.add_with_span(instruction, span),
            (None, Some(line)) => guarded.add_with_line(instruction, u16::try_from(line).unwrap_or(u16::MAX)),
            (None, None) => guarded.add(instruction),
        };
    }
    guarded
}

/// One instruction with its checks. `constant` is what was put on top of the stack just before, where it is known.
fn guarded<'a>(instruction: &Instruction<'a>, constant: Option<&Value>) -> Vec<Instruction<'a>> {
    use Instruction as I;
    let same = || instruction.clone();
    let is_short = constant.is_some_and(is_short);
    let is_list = constant.is_some_and(|constant| constant.as_object().is_some());
    match instruction {
        I::Add if is_short && !is_list => vec![same()],
        I::Add | I::Mul | I::Slice | I::BuildList(_) | I::BuildTuple(_) | I::EndCapture | I::CallObject(_) => {
            vec![same(), check(MADE, 1)]
        }
        I::BuildMap(n_pairs) => match u16::try_from(n_pairs * 2) {
            Ok(n_parts) => vec![check(MAP, n_parts)],
            Err(_) => vec![same(), check(MADE, 1)],
        },
        I::StringConcat => vec![check(CONCAT, 2)],
        I::Eq | I::Ne | I::Lt | I::Lte | I::Gt | I::Gte if is_short => vec![same()],
        I::In if is_short && constant.is_some_and(|list| list.kind() == ValueKind::Seq) => vec![same()],
        I::Eq => call(TEST, "==", Some(2)),
        I::Ne => call(TEST, "!=", Some(2)),
        I::Lt => call(TEST, "<", Some(2)),
        I::Lte => call(TEST, "<=", Some(2)),
        I::Gt => call(TEST, ">", Some(2)),
        I::Gte => call(TEST, ">=", Some(2)),
        I::In => call(TEST, "in", Some(2)),
        I::CompareAndPreserve(_) => vec![check(READ, 1), I::Swap, check(READ, 1), I::Swap, same()],
        I::GetItem if constant.is_some_and(|key| key.as_str().is_some()) => vec![same()],
        I::GetItem => vec![check(READ, 1), I::Swap, check(MADE, 1), I::Swap, same()],
        I::PushLoop(_) | I::FastRecurse => vec![check(MADE, 1), same()],
        I::CallFunction("loop", Some(1)) => vec![check(MADE, 1), same(), check(MADE, 1)],
        I::CallFunction(..) => vec![same(), check(MADE, 1)],
        I::CallMethod(name, n_args) => call(METHOD, name, *n_args),
        I::ApplyFilter(name, n_args, _) if !CHEAP_FILTERS.contains(name) => call(CALL, name, *n_args),
        I::PerformTest(name, n_args, _) if DEEP_TESTS.contains(&without_blanks(name).as_str()) => {
            call(TEST, name, *n_args)
        }
        _ => vec![same()],
    }
}

/// A call of one of our filters with what is on the stack.
fn check<'a>(filter: &'static str, n_args: u16) -> Instruction<'a> {
    Instruction::ApplyFilter(filter, Some(n_args), NOT_REMEMBERED)
}

/// A call of one of our filters that makes the call of `name`. Without a fixed number of arguments, their number is on top
/// of the stack.
fn call<'a>(filter: &'static str, name: &str, n_args: Option<u16>) -> Vec<Instruction<'a>> {
    let name = Instruction::LoadConst(Value::from(without_blanks(name)));
    let one_more = n_args.map(|n_args| n_args.saturating_add(1));
    let apply = Instruction::ApplyFilter(filter, one_more, NOT_REMEMBERED);
    match n_args {
        Some(_) => vec![name, apply],
        None => vec![name, Instruction::Swap, Instruction::LoadConst(Value::from(1)), Instruction::Add, apply],
    }
}

/// As the engine reads names of filters and tests.
fn without_blanks(name: &str) -> String {
    name.chars().filter(|character| !character.is_ascii_whitespace()).collect()
}

/// Whether nothing that is compared with a value, or added to it, can be large.
fn is_short(constant: &Value) -> bool {
    match constant.as_object() {
        Some(_) => held::weigh(constant, CONSTANT_BYTES_MAX as u64).is_ok(),
        None => constant.as_str().is_none_or(|text| text.len() <= CONSTANT_BYTES_MAX),
    }
}

fn target(instruction: &Instruction<'_>) -> Option<u32> {
    use Instruction as I;
    match instruction {
        I::Iterate(to) | I::Jump(to) | I::JumpIfFalse(to) | I::JumpIfFalseOrPop(to) | I::JumpIfTrueOrPop(to) => {
            Some(*to)
        }
        I::BuildMacro(_, to, _) => Some(*to),
        _ => None,
    }
}

fn set_target(instruction: &mut Instruction<'_>, place: u32) {
    use Instruction as I;
    match instruction {
        I::Iterate(to)
        | I::Jump(to)
        | I::JumpIfFalse(to)
        | I::JumpIfFalseOrPop(to)
        | I::JumpIfTrueOrPop(to)
        | I::BuildMacro(_, to, _) => *to = place,
        _ => {}
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
