//! Grammars that hold an answer to a form or its calls to their tools.
//!
//! A wish becomes a grammar in llguidance's Lark, derived from the checkpoint's format, and is compiled for its
//! vocabulary. Thinking stays free. What cannot be enforced is relaxed and reported.

mod calls;
mod closing;
mod compiler;
mod error;
#[cfg(test)]
mod fixtures;
mod form;
mod guide;
mod lark;
mod members;
mod notation;
mod plain;
mod schema;
mod shape;
mod shapes;
mod thinking;
mod vocabulary;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::{AnswerForm, AnswerRules, CallCount, OutputFormat, TextModel, Tool, ToolChoice};
use calls::{Calls, ReadyTool};
use closing::Closing;
use compiler::Compiler;
pub use error::GrammarError;
use form::FormGrammar;
pub use guide::{Allowed, Guide, GuideError};
use guide::{Course, Opener, Plan};
use lark::{Lark, literal};
pub use schema::SchemaError;
use schema::{LOOSER_MAX, looser};
use shape::CallShape;
use thinking::Tags;
pub use vocabulary::TokenScope;
use vocabulary::Vocabulary;

/// Most tokens of a shortest call.
const N_CALL_MAX: usize = 2048;

/// What an answer is to be held to.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// By the request.
    pub rules: &'a AnswerRules,
    /// The declared tools.
    pub tools: &'a [Tool],
    /// The last characters of an answer's prompt ([`TextModel::prompt_tail`]): they tell whether thinking is open already.
    /// `None`: the output continues a text, and neither thinks nor calls.
    pub prompt_tail: Option<&'a str>,
}

impl Wish<'_> {
    fn can_call(&self) -> bool {
        !self.tools.is_empty() && self.rules.tool_choice != ToolChoice::None
    }
}

/// What came of a wish.
#[derive(Clone, Default)]
pub struct Guidance {
    /// `None`: the answer is free.
    plan: Option<Arc<Plan>>,
    /// What is not enforced that the request asks for, each a sentence.
    pub notices: Vec<String>,
}

impl Guidance {
    /// Follows an answer from its start; `None` when there is nothing to hold it to.
    pub fn guide(&self) -> Option<Guide> {
        self.plan.as_ref().map(|plan| Guide::new(Arc::clone(plan)))
    }
}

/// The compiler of a text model, made for the scope that asks first.
#[derive(Default)]
pub(crate) struct Grammars {
    compiler: Mutex<Option<(TokenScope, Arc<Compiler>)>>,
}

impl std::fmt::Debug for Grammars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grammars").finish_non_exhaustive()
    }
}

impl Grammars {
    fn compiler(&self, model: &TextModel, scope: &TokenScope) -> Result<Arc<Compiler>, GrammarError> {
        let mut made = self.compiler.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, compiler)) = made.as_ref().filter(|(made_for, _)| made_for == scope) {
            return Ok(Arc::clone(compiler));
        }
        let vocabulary = Vocabulary::new(Arc::clone(&model.tokenizer), model.shown(), scope);
        let compiler = Compiler::new(vocabulary.into_env()).map_err(|detail| GrammarError::Unenforceable {
            detail: format!("this vocabulary has no grammars: {detail}"),
        })?;
        let compiler = Arc::new(compiler);
        *made = Some((scope.clone(), Arc::clone(&compiler)));
        Ok(compiler)
    }
}

impl TextModel {
    /// Makes ready what an answer is held to. Takes up to a second for large schemas; the latest are kept.
    ///
    /// # Errors
    /// When the wish is wrong in itself, or asks for what this checkpoint cannot be held to.
    pub fn guidance(&self, wish: &Wish<'_>, scope: &TokenScope) -> Result<Guidance, GrammarError> {
        let AnswerRules { form, tool_choice, .. } = wish.rules;
        let can_call = wish.can_call();
        let must_call = matches!(tool_choice, ToolChoice::Required | ToolChoice::Named(_));
        if must_call && wish.tools.is_empty() {
            return Err(GrammarError::NoTools);
        }
        if form.is_none() && !can_call && wish.rules.thinking_budget.is_none() {
            return Ok(Guidance::default());
        }
        let compiler = self.grammars().compiler(self, scope)?;
        let format = self.call_format();
        let template = self.template.as_ref().map_or("", |template| template.source(wish.tools));
        let shape = format.tools.and_then(|format| shape::of(format, template));
        let shown = self.shown();
        let job = Job {
            compiler: &compiler,
            format: if wish.prompt_tail.is_some() { format } else { OutputFormat::default() },
            shown,
            shape,
            lead: if wish.prompt_tail.is_some() { self.tokenizer.dropped_spaces() } else { 0 },
            wish,
        };
        match (form, must_call) {
            (None, false) => job.auto(),
            (form, _) => job.whole(form.as_ref().filter(|_| !must_call)),
        }
    }
}

/// The making of one guidance.
struct Job<'a> {
    compiler: &'a Compiler,
    format: OutputFormat,
    /// Special tokens that the format reads.
    shown: &'a BTreeSet<u32>,
    shape: Option<&'static CallShape>,
    /// Most spaces that decoding drops at the start of an answer.
    lead: usize,
    wish: &'a Wish<'a>,
}

impl Job<'_> {
    /// Calls that fit their tools, once the model opens them.
    fn auto(&self) -> Result<Guidance, GrammarError> {
        let mut notices = Vec::new();
        if !self.wish.can_call() {
            return Ok(self.free(notices));
        }
        let Some((shape, format)) = self.shape.zip(self.format.tools) else {
            return Ok(self.free(vec![self.no_shape()]));
        };
        let tools = self.ready_tools(&mut notices, Badness::Notice)?;
        let begun =
            format.entries.iter().map(|rule| rule.on).filter(|on| !on.is_empty() && shape.begin.starts_with(on));
        let begun = begun.max_by_key(|on| on.len()).unwrap_or(shape.begin);
        let openers = (!begun.is_empty()).then_some((begun, None));
        let openers = openers.into_iter().chain(shape.triggers.iter().map(|trigger| (trigger.on, Some(trigger))));
        let mut triggers = Vec::new();
        for (on, trigger) in openers {
            let write =
                |tools: &[ReadyTool]| Calls::new((format, shape), tools, self.wish.rules.calls).after(on, trigger);
            match self.compile_tools(&tools, write, &mut notices) {
                Ok((matcher, _)) => {
                    let is_fresh = trigger.is_some_and(|trigger| trigger.is_fresh);
                    triggers.push(Opener { on: on.as_bytes().to_vec(), is_fresh, matcher: Box::new(matcher) });
                }
                Err(detail) => {
                    notices.push(format!("calls are not held to their tools: {detail}"));
                    return Ok(self.free(notices));
                }
            }
        }
        let ends_after_call = self.wish.rules.calls == CallCount::One;
        let reach = self.reach(&tools);
        Ok(self.guidance((Course::Calls { triggers, ends_after_call }, reach), notices))
    }

    /// An answer of which only thinking is bounded, if at all.
    fn free(&self, notices: Vec<String>) -> Guidance {
        match self.wish.rules.thinking_budget.and(self.tags()) {
            Some(_) => self.guidance((Course::Calls { triggers: Vec::new(), ends_after_call: false }, 0), notices),
            None => Guidance { plan: None, notices },
        }
    }

    /// An answer that is held to a form, to calls, or to either.
    fn whole(&self, form: Option<&AnswerForm>) -> Result<Guidance, GrammarError> {
        let mut notices = Vec::new();
        let form = form.map(|form| form::ready(form, self.compiler, &mut notices)).transpose()?;
        let can_call = self.wish.can_call();
        let shape = self.shape.filter(|_| can_call);
        if can_call && shape.is_none() {
            match form {
                Some(_) => notices.push(self.no_shape()),
                None => return Err(GrammarError::Unenforceable { detail: self.no_shape() }),
            }
        }
        let tools = if shape.is_some() { self.ready_tools(&mut notices, Badness::of(&form))? } else { Vec::new() };
        let grammar = |tools: &[ReadyTool], place: Place| self.grammar((shape, tools), form.as_ref(), place);
        let unenforceable = |detail| GrammarError::Unenforceable { detail };
        let (first, tools) =
            self.compile_tools(&tools, |tools| grammar(tools, Place::Start), &mut notices).map_err(unenforceable)?;
        let after = self.compiler.compile(&grammar(&tools, Place::AfterThinking)).map_err(unenforceable)?;
        let of_form = form.as_ref().map_or(0, |form| form.reach(self.compiler.env()));
        // Another call may be opened at any time.
        let of_call = match self.call_count() {
            CallCount::Many if !tools.is_empty() => self.closing(0).way(&after, N_CALL_MAX).map_or(0, |way| way.cost()),
            _ => 0,
        };
        let reach = of_form.max(self.reach(&tools) + of_call);
        Ok(self.guidance((Course::Whole { first: Box::new(first), after: Box::new(after) }, reach), notices))
    }

    /// With a course, and by how much one more token may make the way to its end longer.
    fn guidance(&self, (course, reach): (Course, usize), notices: Vec<String>) -> Guidance {
        let thinking = self.tags();
        let tail = self.wish.prompt_tail.unwrap_or_default();
        let starts_thinking = match self.format.reasoning {
            Some(format) => format.is_open_after(tail),
            None => {
                let open = thinking.as_ref().map(|tags| tags.open.as_str());
                open.is_some_and(|open| tail.trim_end().ends_with(open))
            }
        };
        let env = self.compiler.env().clone();
        let n_vocab = env.tok_trie().vocab_size();
        let thinking = thinking.map(|tags| {
            let closes = |token: &u32| tags.close.contains(&*String::from_utf8_lossy(env.tok_trie().token(*token)));
            let strays = self.shown.iter().copied().filter(|token| !closes(token)).collect();
            let close_tokens = env.tokenize_bytes(tags.close.as_bytes());
            let (open, close) = (tags.open.trim().as_bytes().to_vec(), tags.close.into_bytes());
            Tags { open, close, close_tokens, budget: self.wish.rules.thinking_budget, strays }
        });
        let closing = self.closing(reach);
        let n_after_thinking = OnceLock::new();
        let plan = Plan { env, n_vocab, thinking, starts_thinking, course, closing, n_after_thinking };
        Guidance { plan: Some(Arc::new(plan)), notices }
    }

    fn reach(&self, tools: &[ReadyTool]) -> usize {
        closing::reach(self.compiler.env(), tools.iter().map(|tool| &tool.schema))
    }

    fn closing(&self, reach: usize) -> Closing {
        Closing::new(self.compiler, self.shape.filter(|_| self.wish.can_call()), reach)
    }

    /// The tags around thinking, if it may come before the answer.
    fn tags(&self) -> Option<ThinkingTags> {
        let tags = match self.format.reasoning {
            Some(format) => ThinkingTags { open: format.open.to_owned(), close: format.close.to_owned() },
            None if self.is_harmony() => {
                ThinkingTags { open: "<|channel|>analysis<|message|>".to_owned(), close: "<|end|>".to_owned() }
            }
            None => return None,
        };
        let is_closed = self.wish.prompt_tail.unwrap_or_default().trim_end().ends_with(&tags.close);
        (!is_closed).then_some(tags)
    }

    fn is_harmony(&self) -> bool {
        self.format.tools.is_some_and(|format| format.name == "harmony")
    }

    /// A grammar of the whole answer from `place` on.
    fn grammar(&self, calls: (Option<&CallShape>, &[ReadyTool]), form: Option<&FormGrammar>, place: Place) -> String {
        let mut bodies = Vec::new();
        let mut lark = Lark::default();
        if let (Some(shape), Some(format), tools) = (calls.0, self.format.tools, calls.1) {
            let mut calls = Calls::new((format, shape), tools, self.call_count());
            bodies.push(calls.answer());
            lark = calls.lark;
        }
        if let Some(form) = form {
            let channel = if self.is_harmony() { literal("<|channel|>final<|message|>") } else { String::new() };
            bodies.push(format!("{channel} {}", form.write(&mut lark)));
        }
        let body = lark.rule(&bodies.join(" | "));
        let tags = self.tags().filter(|_| place == Place::Start);
        let lead = match place {
            Place::Start if self.lead > 0 => format!("/ {{0,{}}}/", self.lead),
            Place::Start => String::new(),
            Place::AfterThinking if self.is_harmony() => literal("<|start|>assistant"),
            Place::AfterThinking => "/[ \\t\\r\\n]{0,4}/".to_owned(),
        };
        let start = match tags {
            Some(tags) => format!("{lead} ({} | {body})", literal(tags.open.trim())),
            None => format!("{lead} {body}"),
        };
        lark.finish(&start)
    }

    fn call_count(&self) -> CallCount {
        if matches!(self.wish.rules.tool_choice, ToolChoice::Named(_)) { CallCount::One } else { self.wish.rules.calls }
    }

    fn no_shape(&self) -> String {
        match self.format.tools {
            Some(format) => format!("calls in the format {:?} cannot be held to their tools", format.name),
            None => "this checkpoint's chat template has no tool calls".to_owned(),
        }
    }

    /// The tools that may be called.
    fn ready_tools(&self, notices: &mut Vec<String>, badness: Badness) -> Result<Vec<ReadyTool>, GrammarError> {
        let mut ready = Vec::new();
        for (index, tool) in self.wish.tools.iter().enumerate() {
            if matches!(&self.wish.rules.tool_choice, ToolChoice::Named(name) if *name != tool.name) {
                continue;
            }
            match ReadyTool::new(tool) {
                Ok((tool, reports)) => {
                    notices.extend(reports.into_iter().map(|report| format!("tool {:?}: {report}", tool.name)));
                    ready.push(tool);
                }
                Err(error) if badness == Badness::Notice => {
                    notices.push(format!("the arguments of {:?} are not held to their schema: {error}", tool.name));
                    ready.push(ReadyTool::open(&tool.name));
                }
                Err(error) => return Err(GrammarError::Tool { index, detail: error.to_string() }),
            }
        }
        match &self.wish.rules.tool_choice {
            ToolChoice::Named(name) if ready.is_empty() => Err(GrammarError::UnknownTool { name: name.clone() }),
            _ => Ok(ready),
        }
    }

    /// Compiles a grammar of calls. Tools that the engine refuses are held to less, and reported.
    fn compile_tools(
        &self,
        tools: &[ReadyTool],
        write: impl Fn(&[ReadyTool]) -> String,
        notices: &mut Vec<String>,
    ) -> Result<(llguidance::Matcher, Vec<ReadyTool>), String> {
        let mut tools = tools.to_vec();
        let mut refusal = match self.compiler.compile(&write(&tools)) {
            Ok(matcher) => return Ok((matcher, tools)),
            Err(refusal) => refusal,
        };
        for rung in 0..LOOSER_MAX {
            for tool in &mut tools {
                if let Err(detail) = self.compiler.compile(&write(std::slice::from_ref(tool))) {
                    let (schema, lost) = looser(&tool.schema, rung);
                    tool.schema = schema;
                    notices.push(format!("tool {:?}: {lost} are not enforced: {detail}", tool.name));
                }
            }
            match self.compiler.compile(&write(&tools)) {
                Ok(matcher) => return Ok((matcher, tools)),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }
}

/// Tags as text.
struct ThinkingTags {
    open: String,
    close: String,
}

/// Where a grammar begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    AfterThinking,
}

/// What a bad schema of a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Badness {
    /// Nothing that a request without constraints would fail for.
    Notice,
    Error,
}

impl Badness {
    fn of(form: &Option<FormGrammar>) -> Self {
        if form.is_some() { Self::Notice } else { Self::Error }
    }
}

#[cfg(test)]
#[path = "grammar_tests.rs"]
mod tests;
