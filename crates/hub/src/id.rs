//! What models of the Hub are called: `owner/name`, and where a repository holds several, what lies in it after that, such
//! as `owner/name/4bit` or `owner/name/model-Q4_K_M.gguf`.

/// Longest name of a repository, in bytes, and of what lies in it.
const N_REPOSITORY_BYTES_MAX: usize = 96;
const N_INSIDE_BYTES_MAX: usize = 200;
/// Folders inside folders of a repository that models are looked for in.
pub const DEPTH_MAX: usize = 3;

/// A name taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubId<'a> {
    /// `owner/name`.
    pub repository: &'a str,
    /// The folder in it, or the GGUF file; `None` is the top.
    pub inside: Option<&'a str>,
}

impl<'a> HubId<'a> {
    /// `None` where `text` is no such name: parts are letters, digits, `-`, `_` and `.`, so that paths made of them stay inside
    /// their folder.
    pub fn parse(text: &'a str) -> Option<Self> {
        let slash = text.match_indices('/').map(|(at, _)| at).nth(1);
        let (repository, inside) = match slash {
            Some(at) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        let is_repository = repository.len() <= N_REPOSITORY_BYTES_MAX
            && repository.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
            && !repository.contains("--");
        let is_inside = |inside: &str| {
            let n_parts = inside.split('/').count();
            inside.len() <= N_INSIDE_BYTES_MAX && n_parts <= DEPTH_MAX + 1 && inside.split('/').all(is_part)
        };
        (is_repository && inside.is_none_or(is_inside)).then_some(Self { repository, inside })
    }

    /// The GGUF file, if it is one.
    pub fn gguf(&self) -> Option<&'a str> {
        self.inside.filter(|inside| inside.ends_with(".gguf"))
    }

    /// Name of the repository's folder in the Hugging Face cache.
    pub fn cache_folder(&self) -> String {
        format!("models--{}", self.repository.replace('/', "--"))
    }
}

fn is_part(part: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && part.chars().all(is_plain) && !part.starts_with(['.', '-'])
}

/// Whether `text` names a repository as a whole.
pub fn is_repository(text: &str) -> bool {
    HubId::parse(text).is_some_and(|id| id.inside.is_none())
}

#[cfg(test)]
#[path = "id_tests.rs"]
mod tests;
