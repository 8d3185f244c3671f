//! Joins chat's grammars to the engine's masks: what a job's sequences are held to.

use std::sync::Arc;

use tokbar_chat::{self as chat, GrammarError, Guidance, Guide, TokenScope, Tool, Wish};
use tokbar_engine::{MaskSource, TokenBits, TokenId, TokenMask};

use crate::generate::Job;
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

/// The mask of each sequence of a guidance.
pub fn mask(guidance: &Guidance) -> Option<MaskSource> {
    let guide = guidance.guide()?;
    Some(MaskSource::new(move || Box::new(GuideMask(guide.clone()))))
}

struct GuideMask(Guide);

impl TokenMask for GuideMask {
    fn allowed(&mut self) -> Result<Option<Arc<TokenBits>>, String> {
        Ok(match self.0.allowed().map_err(|error| error.to_string())? {
            chat::Allowed::All => None,
            chat::Allowed::These(words) => Some(Arc::new(TokenBits { words })),
        })
    }

    fn forced(&mut self) -> Vec<TokenId> {
        self.0.forced()
    }

    fn commit(&mut self, token: TokenId) -> Result<(), String> {
        self.0.commit(token).map_err(|error| error.to_string())
    }

    fn is_complete(&self) -> bool {
        self.0.is_complete()
    }

    fn n_fitting(&mut self, tokens: &[TokenId]) -> usize {
        self.0.n_fitting(tokens)
    }

    fn fork(&self) -> Box<dyn TokenMask> {
        Box::new(Self(self.0.clone()))
    }
}
