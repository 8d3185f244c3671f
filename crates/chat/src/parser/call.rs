//! The call that is being read.

use std::collections::HashMap;

use super::{
    element::ElementValue,
    gemma::GemmaValue,
    json_call::JsonCall,
    json_value::JsonValue,
    output::Output,
    plain::PlainArguments,
    repair::{Repair, Want},
};
use crate::{
    Event,
    formats::{IdStyle, ToolFormat},
};

/// The call being read.
#[derive(Debug)]
pub(super) struct Call {
    /// Its text as long as it may turn out to be none.
    pub raw: String,
    /// Calls started so far.
    pub n_calls: usize,
    seed: u64,
    pub name: String,
    pub id: Option<String>,
    /// The name, key or id being read.
    pub word: String,
    /// The member `action` of a call whose name is one.
    pub action: Option<String>,
    /// The argument's name.
    pub key: String,
    pub arguments: Arguments,
    pub json_call: JsonCall,
    is_open: bool,
    repair: Repair,
}

/// How the call's arguments are written.
#[derive(Debug)]
pub(super) enum Arguments {
    None,
    Plain(PlainArguments),
    Json(JsonValue),
    /// JSON text in a string, read so far.
    Text(JsonValue, String),
    Gemma(GemmaValue),
    Elements(ElementValue),
    /// They are complete.
    Done,
}

impl Call {
    pub fn new(seed: u64) -> Self {
        Self {
            raw: String::new(),
            n_calls: 0,
            seed,
            name: String::new(),
            id: None,
            word: String::new(),
            action: None,
            key: String::new(),
            arguments: Arguments::None,
            json_call: JsonCall::default(),
            is_open: false,
            repair: Repair::default(),
        }
    }

    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Prepares for the next state's body.
    pub fn begin_body(&mut self) {
        self.word.clear();
        if !self.is_open {
            self.arguments = Arguments::None;
            self.json_call = JsonCall::default();
        }
    }

    /// Says that the model calls a tool.
    pub fn start(&mut self, format: Option<&ToolFormat>, wants: HashMap<String, Want>, output: &mut Output) {
        self.repair = Repair::new(wants);
        let index = self.n_calls;
        let style = format.map_or(IdStyle::Call, |format| format.ids);
        let id = self.id.take().unwrap_or_else(|| make_id(self.seed, index, style));
        output.event(Event::ToolStart { index, id, name: self.name.clone() });
        self.n_calls += 1;
        self.is_open = true;
        self.raw.clear();
    }

    /// Completes the arguments and says that the call is complete.
    pub fn end(&mut self, output: &mut Output) {
        let mut text = String::new();
        match &mut self.arguments {
            Arguments::None if self.json_call.has_arguments => {
                self.json_call.complete();
                text = std::mem::take(&mut self.json_call.arguments);
            }
            Arguments::None | Arguments::Text(..) => text.push_str("{}"),
            Arguments::Plain(arguments) => arguments.finish(&mut text),
            Arguments::Json(value) => value.complete(&mut text),
            Arguments::Gemma(value) => value.complete(&mut text),
            Arguments::Elements(value) => value.complete(&mut text),
            Arguments::Done => {}
        }
        let index = self.n_calls - 1;
        let mut fitting = String::new();
        self.repair.push(&text, &mut fitting);
        self.repair.finish(&mut fitting);
        output.arguments(index, &fitting);
        output.event(Event::ToolEnd { index });
        self.arguments = Arguments::None;
        self.json_call = JsonCall::default();
        self.is_open = false;
        self.raw.clear();
    }

    /// Keeps text of what may be no call.
    pub fn note(&mut self, text: &str) {
        if !self.is_open {
            self.raw.push_str(text);
        }
    }

    pub fn emit(&mut self, output: &mut Output, text: &str) {
        let mut fitting = String::new();
        self.repair.push(text, &mut fitting);
        output.arguments(self.n_calls - 1, &fitting);
    }

    pub fn plain(&mut self) -> &mut PlainArguments {
        if !matches!(self.arguments, Arguments::Plain(_)) {
            self.arguments = Arguments::Plain(PlainArguments::default());
        }
        match &mut self.arguments {
            Arguments::Plain(arguments) => arguments,
            _ => unreachable!("set just above"),
        }
    }
}

fn make_id(seed: u64, index: usize, style: IdStyle) -> String {
    let mut bits = mix(seed ^ mix(index as u64 + 1));
    match style {
        IdStyle::Call => format!("call_{bits:016x}"),
        IdStyle::Alphanumeric9 => {
            let letters = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let letter = |_| {
                let letter = letters[(bits % 62) as usize];
                bits /= 62;
                char::from(letter)
            };
            (0..9).map(letter).collect()
        }
    }
}

/// SplitMix64's output function (Steele et al. 2014).
fn mix(seed: u64) -> u64 {
    let bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
