//! Members of an object in any order, each at most once: rules with a bit for each member that has come.

use serde_json::Value;

/// Most members that may come in any order. Beyond, they come in the schema's order.
pub(super) const N_ANY_ORDER_MAX: usize = 60;

/// The declared members of an object, required ones first.
#[derive(Debug)]
pub(super) struct Members<'a> {
    pub declared: Vec<(&'a str, &'a Value)>,
    n_required: usize,
    /// The schema of members that are not declared, if any may come.
    pub others: Option<Value>,
}

impl<'a> Members<'a> {
    /// Of an object's schema. Members beyond those that rules have bits for may come unchecked.
    pub fn of(schema: &'a Value) -> Self {
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut declared: Vec<(&str, &Value)> =
            properties.into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
        for name in &required {
            if !declared.iter().any(|(declared, _)| declared == name) {
                declared.push((name, &Value::Bool(true)));
            }
        }
        declared.retain(|(name, value)| **value != Value::Bool(false) || required.contains(name));
        declared.sort_by_key(|(name, _)| !required.contains(name));
        let n_required = required.len().min(declared.len()).min(N_ANY_ORDER_MAX);
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(rest) => Some(rest.clone()),
            None => Some(Value::Bool(true)),
        };
        let others = if declared.len() > N_ANY_ORDER_MAX { Some(Value::Bool(true)) } else { others };
        declared.truncate(N_ANY_ORDER_MAX);
        Self { declared, n_required, others }
    }

    /// Holds once every required member has come.
    pub fn if_complete(&self) -> String {
        match self.n_required {
            0 => String::new(),
            n => format!(" %if is_ones([0:{n}])"),
        }
    }

    /// Holds while a member may come.
    pub fn if_more(&self) -> String {
        match self.declared.len() {
            _ if self.others.is_some() => String::new(),
            n => format!(" %if not(is_ones([0:{n}]))"),
        }
    }

    pub fn can_have_any(&self) -> bool {
        !self.declared.is_empty() || self.others.is_some()
    }
}
