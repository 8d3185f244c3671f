//! Property lists as text, as far as ours go: dictionaries, lists, texts, whole numbers, yes and no.

use anyhow::{Context, bail, ensure};

/// Deeper than any list of ours.
const MAX_DEPTH: usize = 8;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<Value>),
    Dict(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key, if this is a dictionary that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let Value::Dict(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Names of a dictionary's entries.
    pub fn keys(&self) -> Vec<&str> {
        let Value::Dict(entries) = self else { return Vec::new() };
        entries.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// Reads an XML property list.
pub fn read(xml: &str) -> anyhow::Result<Value> {
    let mut reader = Reader { rest: xml };
    let open = loop {
        let tag = reader.tag()?;
        if !tag.starts_with(['?', '!']) {
            break tag;
        }
    };
    ensure!(open.starts_with("plist"), "not a property list: it starts with <{open}>");
    let tag = reader.tag()?;
    let value = reader.value(tag, 0)?;
    ensure!(reader.tag()? == "/plist", "more than one value in a property list");
    Ok(value)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// The next tag without its brackets; between tags only blanks and comments may stand.
    fn tag(&mut self) -> anyhow::Result<&'a str> {
        loop {
            let rest = self.rest.trim_start();
            let Some(after) = rest.strip_prefix('<') else { bail!("expected a tag at `{}`", start_of(rest)) };
            if let Some(comment) = after.strip_prefix("!--") {
                self.rest = comment.split_once("-->").context("a comment does not end")?.1;
                continue;
            }
            let (tag, rest) = after.split_once('>').context("a tag does not end")?;
            self.rest = rest;
            return Ok(tag.trim());
        }
    }

    /// The text up to the tag that closes `name`.
    fn text(&mut self, name: &str) -> anyhow::Result<String> {
        let close = format!("</{name}>");
        let (text, rest) = self.rest.split_once(&close).with_context(|| format!("<{name}> does not end"))?;
        ensure!(!text.contains('<'), "a tag inside <{name}>");
        self.rest = rest;
        Ok(text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&"))
    }

    fn value(&mut self, tag: &str, depth: usize) -> anyhow::Result<Value> {
        ensure!(depth < MAX_DEPTH, "nested too deep");
        Ok(match tag {
            "string" => Value::Text(self.text("string")?),
            "integer" => Value::Number(self.text("integer")?.trim().parse().context("an integer that is none")?),
            "true/" => Value::Flag(true),
            "false/" => Value::Flag(false),
            "array/" => Value::List(Vec::new()),
            "dict/" => Value::Dict(Vec::new()),
            "array" => Value::List(self.list(depth)?),
            "dict" => Value::Dict(self.dict(depth)?),
            _ => bail!("<{tag}> is not used in our lists"),
        })
    }

    fn list(&mut self, depth: usize) -> anyhow::Result<Vec<Value>> {
        let mut values = Vec::new();
        loop {
            match self.tag()? {
                "/array" => return Ok(values),
                tag => values.push(self.value(tag, depth + 1)?),
            }
        }
    }

    fn dict(&mut self, depth: usize) -> anyhow::Result<Vec<(String, Value)>> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        loop {
            match self.tag()? {
                "/dict" => return Ok(entries),
                "key" => {
                    let key = self.text("key")?;
                    ensure!(entries.iter().all(|(known, _)| *known != key), "`{key}` stands twice");
                    let tag = self.tag()?;
                    entries.push((key, self.value(tag, depth + 1)?));
                }
                tag => bail!("expected <key>, not <{tag}>"),
            }
        }
    }
}

fn start_of(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
#[path = "plist_tests.rs"]
mod tests;
