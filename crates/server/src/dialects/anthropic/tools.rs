//! Tools and the choice among them.

use serde_json::Value;
use tokbar_chat::{CallCount, Tool, ToolChoice};

use crate::ApiError;
use crate::fields::{Fields, must_be};

/// The tools, how they must be used, and how many calls an answer may make.
///
/// # Errors
/// Names the tool and field at fault.
pub fn tools(fields: &mut Fields) -> Result<(Vec<Tool>, ToolChoice, CallCount), ApiError> {
    let items = fields.list("tools")?.unwrap_or_default();
    let tools: Result<Vec<Tool>, _> =
        items.into_iter().enumerate().map(|(idx, item)| tool(format!("tools[{idx}]"), item)).collect();
    let tools = tools?;
    let Some(mut choice) = fields.object("tool_choice")? else {
        return Ok((tools, ToolChoice::Auto, CallCount::Many));
    };
    let is_single = choice.flag("disable_parallel_tool_use")?.unwrap_or(false);
    let count = if is_single { CallCount::One } else { CallCount::Many };
    let choice = match choice.required_string("type")?.as_str() {
        "auto" => ToolChoice::Auto,
        "none" => return Ok((Vec::new(), ToolChoice::None, count)),
        "any" if tools.is_empty() => return Err(ApiError::invalid("tool_choice", "needs tools to choose from")),
        "any" => ToolChoice::Required,
        "tool" => {
            let name = choice.required_string("name")?;
            if !tools.iter().any(|tool| tool.name == name) {
                return Err(ApiError::invalid("tool_choice.name", format!("must be one of the tools, not {name:?}")));
            }
            ToolChoice::Named(name)
        }
        other => {
            let detail = format!("must be auto, any, tool or none, not {other:?}");
            return Err(ApiError::invalid("tool_choice.type", detail));
        }
    };
    Ok((tools, choice, count))
}

fn tool(path: String, item: Value) -> Result<Tool, ApiError> {
    let mut fields = Fields::new(path, item)?;
    let kind = fields.string("type")?.unwrap_or_else(|| "custom".to_owned());
    if kind != "custom" {
        let detail = format!(
            "the tool {kind:?} runs at its vendor or is known to the vendor's models only; \
             leave it out, or declare a tool of your own with an input_schema"
        );
        return Err(ApiError::unsupported(fields.path("type"), detail));
    }
    let parameters = match fields.take("input_schema") {
        Some(schema @ Value::Object(_)) => schema,
        Some(other) => return Err(must_be(fields.path("input_schema"), "a JSON schema (an object)", &other)),
        None => return Err(ApiError::invalid(fields.path("input_schema"), "is required: a JSON schema (an object)")),
    };
    Ok(Tool { name: fields.required_string("name")?, description: fields.string("description")?, parameters })
}
