//! Options of what may be answered in the cloud.

use clap::{Args, ValueEnum};
use tokbar_server::control::CloudDialect;

/// Where long prompts may go; nowhere by default. The key is read from TOKBAR_CLOUD_KEY.
#[derive(Clone, Debug, Default, Args)]
pub struct CloudArgs {
    /// Send long prompts to this model in the cloud.
    #[arg(long, value_name = "MODEL")]
    pub cloud_model: Option<String>,

    /// Tokens to compute, from which on a prompt goes to the cloud; 32768 by default.
    #[arg(long, value_name = "N")]
    pub cloud_threshold: Option<u64>,

    /// Address of the server in the cloud, such as https://api.openai.com/v1.
    #[arg(long, value_name = "URL")]
    pub cloud_url: Option<String>,

    /// What that server speaks; calls in other dialects stay here.
    #[arg(long, value_enum, value_name = "DIALECT")]
    pub cloud_dialect: Option<CloudDialectArg>,
}

/// What a server in the cloud speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CloudDialectArg {
    /// OpenAI's chat completions.
    Openai,
    /// Anthropic's messages.
    Anthropic,
}

impl From<CloudDialectArg> for CloudDialect {
    fn from(arg: CloudDialectArg) -> Self {
        match arg {
            CloudDialectArg::Openai => Self::OpenAi,
            CloudDialectArg::Anthropic => Self::Anthropic,
        }
    }
}
