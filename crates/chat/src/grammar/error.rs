//! Why a wish cannot be honoured.

/// A wish that cannot be honoured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// The form is wrong in itself.
    #[error("cannot be used: {detail}")]
    Form {
        /// What is wrong.
        detail: String,
    },
    /// A tool's schema is wrong in itself.
    #[error("is no usable JSON schema: {detail}")]
    Tool {
        /// Which of the declared tools.
        index: usize,
        /// What is wrong.
        detail: String,
    },
    /// No tool of the name that must be called is declared.
    #[error("asks for a call of {name:?}, which is none of the declared tools")]
    UnknownTool {
        /// The name.
        name: String,
    },
    /// A call must be made, and no tools are declared.
    #[error("asks for a call, but no tools are declared")]
    NoTools,
    /// This checkpoint's calls cannot be held to a grammar.
    #[error("cannot be enforced: {detail}; use \"auto\"")]
    Unenforceable {
        /// Why.
        detail: String,
    },
}
