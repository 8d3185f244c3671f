//! Tools: functions, functions in namespaces, and tools that take plain text. All are functions to the model, under names
//! that lead back. Tools that a vendor runs are not shown to it.

use std::collections::HashMap;

use serde_json::{Value, json};
use tokbar_chat::{CallCount, Tool, ToolChoice};

use crate::ApiError;
use crate::fields::{Fields, must_be};

/// What a name that the model calls stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function, in a namespace or not.
    Function { namespace: Option<String>, name: String },
    /// A tool that takes plain text.
    Custom { name: String },
}

/// The tools of a call.
#[derive(Debug, Default)]
pub struct Tools {
    /// As the template shows them.
    pub shown: Vec<Tool>,
    targets: HashMap<String, Target>,
}

/// The argument under which a text tool gets its text.
const INPUT: &str = "input";

/// The name that the model sees.
pub fn flat(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) if namespace.ends_with("__") => format!("{namespace}{name}"),
        Some(namespace) => format!("{namespace}__{name}"),
        None => name.to_owned(),
    }
}

/// The text that a call of a text tool carries.
pub fn plain_input(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(map)) => match map.get(INPUT) {
            Some(Value::String(text)) => text.clone(),
            _ => arguments.to_owned(),
        },
        _ => arguments.to_owned(),
    }
}

/// The arguments of a call of a text tool that carries `input`.
pub fn plain_arguments(input: String) -> Value {
    json!({ INPUT: input })
}

impl Tools {
    /// # Errors
    /// Names the tool and field at fault.
    pub fn parse(fields: &mut Fields) -> Result<Self, ApiError> {
        let mut tools = Self::default();
        let items = fields.list("tools")?.unwrap_or_default();
        for (idx, item) in items.into_iter().enumerate() {
            tools.add(Fields::new(format!("tools[{idx}]"), item)?, None)?;
        }
        Ok(tools)
    }

    fn add(&mut self, mut fields: Fields, namespace: Option<&str>) -> Result<(), ApiError> {
        match fields.required_string("type")?.as_str() {
            "function" => self.add_function(fields, namespace),
            "custom" => self.add_custom(fields),
            "namespace" if namespace.is_none() => {
                let name = fields.required_string("name")?;
                let path = fields.path("tools");
                let items = fields.list("tools")?.unwrap_or_default();
                items
                    .into_iter()
                    .enumerate()
                    .try_for_each(|(idx, item)| self.add(Fields::new(format!("{path}[{idx}]"), item)?, Some(&name)))
            }
            // Searches, shells and the like run at the vendor: the model here cannot know how to call them.
            _ => Ok(()),
        }
    }

    fn add_function(&mut self, mut fields: Fields, namespace: Option<&str>) -> Result<(), ApiError> {
        // The shape of chat completions, which some clients send here, too.
        let mut fields = fields.object("function")?.unwrap_or(fields);
        let name = fields.required_string("name")?;
        let parameters = match fields.take("parameters") {
            None => json!({ "type": "object", "properties": {} }),
            Some(schema @ Value::Object(_)) => schema,
            Some(other) => return Err(must_be(fields.path("parameters"), "a JSON schema (an object)", &other)),
        };
        let tool = Tool { name: flat(namespace, &name), description: fields.string("description")?, parameters };
        let target = Target::Function { namespace: namespace.map(str::to_owned), name };
        self.show(tool, target);
        Ok(())
    }

    fn add_custom(&mut self, mut fields: Fields) -> Result<(), ApiError> {
        let name = fields.required_string("name")?;
        let mut description = fields.string("description")?.unwrap_or_default();
        if let Some(mut format) = fields.object("format")?
            && let Some(grammar) = format.string("definition")?
        {
            description.push_str("\n\nThe input follows this grammar:\n");
            description.push_str(&grammar);
        }
        let parameters = json!({
            "type": "object", "properties": { INPUT: { "type": "string" } }, "required": [INPUT],
        });
        let tool = Tool { name: name.clone(), description: Some(description), parameters };
        self.show(tool, Target::Custom { name });
        Ok(())
    }

    fn show(&mut self, tool: Tool, target: Target) {
        self.targets.insert(tool.name.clone(), target);
        self.shown.push(tool);
    }

    /// What a name that the model calls stands for; a name of its own invention is a function of that name.
    pub fn target(&self, called: &str) -> Target {
        let invented = || Target::Function { namespace: None, name: called.to_owned() };
        self.targets.get(called).cloned().unwrap_or_else(invented)
    }

    /// How the tools must be used. Hides those that may not be.
    ///
    /// # Errors
    /// When the choice names no tool that is there.
    pub fn choose(&mut self, fields: &mut Fields) -> Result<(ToolChoice, CallCount), ApiError> {
        let is_single = fields.flag("parallel_tool_calls")? == Some(false);
        let count = if is_single { CallCount::One } else { CallCount::Many };
        let choice = match fields.take("tool_choice") {
            None => ToolChoice::Auto,
            Some(Value::String(word)) => self.mode("tool_choice", &word)?,
            Some(value @ Value::Object(_)) => self.choose_one(Fields::new("tool_choice", value)?)?,
            Some(other) => return Err(must_be("tool_choice".to_owned(), "a string or an object", &other)),
        };
        if choice == ToolChoice::None {
            self.shown.clear();
        }
        Ok((choice, count))
    }

    fn mode(&self, path: &str, word: &str) -> Result<ToolChoice, ApiError> {
        match word {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" if self.shown.is_empty() => Err(ApiError::invalid(path, "needs tools to choose from")),
            "required" => Ok(ToolChoice::Required),
            other => Err(ApiError::invalid(path, format!("must be auto, none or required, not {other:?}"))),
        }
    }

    fn choose_one(&mut self, mut choice: Fields) -> Result<ToolChoice, ApiError> {
        match choice.required_string("type")?.as_str() {
            "function" | "custom" => self.named(&mut choice).map(ToolChoice::Named),
            "allowed_tools" => {
                let path = choice.path("tools");
                let mut allowed = Vec::new();
                for (idx, item) in choice.list("tools")?.unwrap_or_default().into_iter().enumerate() {
                    allowed.push(self.named(&mut Fields::new(format!("{path}[{idx}]"), item)?)?);
                }
                self.shown.retain(|tool| allowed.contains(&tool.name));
                let mode = choice.string("mode")?.unwrap_or_else(|| "auto".to_owned());
                self.mode("tool_choice.mode", &mode)
            }
            other => {
                let detail = format!("tools of type {other:?} do not run here; name a function");
                Err(ApiError::unsupported("tool_choice.type", detail))
            }
        }
    }

    fn named(&self, fields: &mut Fields) -> Result<String, ApiError> {
        let path = fields.path("name");
        let name = flat(fields.string("namespace")?.as_deref(), &fields.required_string("name")?);
        if self.shown.iter().any(|tool| tool.name == name) {
            return Ok(name);
        }
        Err(ApiError::invalid(path, format!("must be one of the tools, not {name:?}")))
    }
}
