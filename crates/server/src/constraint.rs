//! Joins chat's grammars to the engine's masks: what a job's sequences are held to.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokbar_chat::{self as chat, GrammarError, Guidance, Guide, TokenScope, Tool, Wish};
use tokbar_engine::{MaskSource, TokenBits, TokenId, TokenMask};

use crate::generate::Job;
use crate::notices::Curtailed;
use crate::{ApiError, ServedModel, ServerState};

/// The field that errors of a form name; a dialect that has another name for it says so.
const FORM_FIELD: &str = "format";

/// What the continuations of a prompt are held to. `tools` are those of an answer; other continuations have none.
///
/// # Errors
/// When the job asks for what is wrong in itself, or for what this checkpoint cannot be held to.
pub async fn guidance(
    state: &ServerState,
    model: &Arc<ServedModel>,
    job: &Job,
    prompt: (&[TokenId], Option<&[Tool]>),
) -> Result<Guidance, ApiError> {
    let (prompt, tools) = prompt;
    if job.rules.form.is_none() && tools.is_none_or(<[Tool]>::is_empty) && job.rules == chat::AnswerRules::default() {
        return Ok(Guidance::default());
    }
    let (text, rules) = (model.text.clone(), job.rules.clone());
    let info = model.engine.info();
    let mut ends = info.eos.clone();
    ends.extend(text.tokenizer.eos());
    ends.sort_unstable();
    ends.dedup();
    let scope = TokenScope { n_vocab: info.n_vocab, ends };
    let tail = tools.is_some().then(|| text.prompt_tail(prompt));
    let tools = tools.unwrap_or_default().to_vec();
    let work = move || {
        let wish = Wish { rules: &rules, tools: &tools, prompt_tail: tail.as_deref() };
        text.guidance(&wish, &scope)
    };
    state.text_jobs.run(work).await?.map_err(refusal)
}

fn refusal(error: GrammarError) -> ApiError {
    match &error {
        GrammarError::Form { .. } => ApiError::invalid(FORM_FIELD, error.to_string()),
        GrammarError::Tool { index, .. } => ApiError::invalid(format!("tools[{index}]"), error.to_string()),
        GrammarError::UnknownTool { .. } | GrammarError::NoTools => ApiError::invalid("tool_choice", error.to_string()),
        GrammarError::Unenforceable { .. } => ApiError::unsupported("tool_choice", error.to_string()),
    }
}

/// Names the field of a form's error as the dialect has it.
pub fn named(error: ApiError, field: &str) -> ApiError {
    match error {
        ApiError::Invalid { param, detail } if param == FORM_FIELD => ApiError::invalid(field, detail),
        other => other,
    }
}

/// The mask of a sequence of a guidance, for an output of at most `n_max` tokens, and what tells whether that curtailed it.
pub fn mask(guidance: &Guidance, n_max: usize) -> (Option<MaskSource>, Option<Curtailed>) {
    let Some(guide) = guidance.guide() else { return (None, None) };
    let guide = guide.within(n_max);
    let curtailed = Curtailed::default();
    let told = Arc::clone(&curtailed);
    let source = MaskSource::new(move || Box::new(GuideMask { guide: guide.clone(), curtailed: Arc::clone(&told) }));
    (Some(source), Some(curtailed))
}

struct GuideMask {
    guide: Guide,
    curtailed: Curtailed,
}

impl TokenMask for GuideMask {
    fn allowed(&mut self) -> Result<Option<Arc<TokenBits>>, String> {
        Ok(match self.guide.allowed().map_err(|error| error.to_string())? {
            chat::Allowed::All => None,
            chat::Allowed::These(words) => Some(Arc::new(TokenBits { words })),
        })
    }

    fn forced(&mut self) -> Vec<TokenId> {
        self.guide.forced()
    }

    fn commit(&mut self, token: TokenId) -> Result<(), String> {
        self.guide.commit(token).map_err(|error| error.to_string())?;
        if self.guide.is_curtailed() {
            self.curtailed.store(true, Ordering::Release);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.guide.is_complete()
    }

    fn is_curtailed(&self) -> bool {
        self.guide.is_curtailed()
    }

    fn n_fitting(&mut self, tokens: &[TokenId]) -> usize {
        self.guide.n_fitting(tokens)
    }

    fn fork(&self) -> Box<dyn TokenMask> {
        // What drafts come to is not told.
        Box::new(Self { guide: self.guide.clone(), curtailed: Curtailed::default() })
    }
}
