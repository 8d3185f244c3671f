//! What would change, and the change itself.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::clients::{Client, FileEdit, How};
use super::edit::{self, Fields, Format};
use super::record::{self, FileRecord};
use super::{Place, Target, diff, file};

/// Changes that were thought through and not made.
#[derive(Clone, Debug)]
pub struct Plan {
    client: &'static str,
    /// In order; none where a person is told what to do.
    pub changes: Vec<Change>,
    /// What a person does, or knows.
    pub notes: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Connect,
    Remove,
}

/// A change of one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    /// What it says now; `None` where it is not there.
    now: Option<String>,
    /// What it shall say; `None` where it shall not be there.
    after: Option<String>,
    /// What it would say without us.
    base: Option<String>,
    format: Format,
    fields: Fields,
    made: Vec<PathBuf>,
    secret: Option<String>,
}

impl Change {
    /// The lines that change, with their neighbours; keys are left out.
    pub fn diff(&self) -> String {
        let show = |text: &Option<String>| text.as_deref().unwrap_or_default().to_owned();
        let text = diff::lines(&show(&self.now), &show(&self.after));
        diff::without_secrets(&text, self.secret.as_deref())
    }

    /// The text without keys before and after: for showing.
    pub fn texts(&self) -> (Option<String>, String) {
        let shown = |text: &str| diff::without_secrets(text, self.secret.as_deref());
        (self.now.as_deref().map(shown), self.after.as_deref().map(shown).unwrap_or_default())
    }

    /// Whether anything changes.
    pub fn is_none(&self) -> bool {
        self.now == self.after
    }
}

/// What connecting a client would change.
///
/// # Errors
/// When a file is broken, or cannot be edited safely: the error names it.
pub fn plan(client: &Client, target: &Target, place: &Place) -> Result<Plan> {
    let changes = match client.how {
        How::Steps(_) => Vec::new(),
        How::Files(files) => {
            let records = record::read(place, client.name)?;
            let change = |file: FileEdit| change(client, target, file, (place, &records));
            files(target).into_iter().map(change).collect::<Result<_>>()?
        }
    };
    let notes = match client.how {
        How::Steps(steps) => steps(target),
        How::Files(_) => client.note(target),
    };
    Ok(Plan { client: client.name, changes, notes, kind: Kind::Connect })
}

fn change(client: &Client, target: &Target, file: FileEdit, known: (&Place, &[FileRecord])) -> Result<Change> {
    let (place, records) = known;
    let path = file.at.path(place);
    let wrong = || format!("{} is left as it is", path.display());
    let now = file::read(&path)?;
    let known = records.iter().find(|record| record.path == path);
    let (base, made) = match known {
        Some(record) => (undone(client.name, record, now.as_deref(), place).with_context(wrong)?, record.made.clone()),
        None => (now.clone(), Vec::new()),
    };
    let text = base.as_deref().unwrap_or_default();
    let (format, secret) = (file.format, target.key.clone());
    let mut fields = edit::missing(format, text, file.defaults).with_context(wrong)?;
    fields.extend(file.fields);
    let after = edit::set(format, text, &fields).with_context(wrong)?;
    Ok(Change { path, now, after: Some(after), base, format, fields, made, secret })
}

/// What disconnecting a client would change.
///
/// # Errors
/// When it is not connected, or a file has become one that cannot be edited.
pub fn plan_removal(client: &Client, place: &Place) -> Result<Plan> {
    let records = record::read(place, client.name)?;
    if records.is_empty() {
        bail!("{} was not connected here: nothing was changed", client.title);
    }
    let change = |record: FileRecord| {
        let now = file::read(&record.path)?;
        let after = undone(client.name, &record, now.as_deref(), place)
            .with_context(|| format!("{} is left as it is", record.path.display()))?;
        let FileRecord { path, format, fields, made, .. } = record;
        Ok(Change { path, now, base: after.clone(), after, format, fields, made, secret: None })
    };
    let changes = records.into_iter().map(change).collect::<Result<_>>()?;
    Ok(Plan { client: client.name, changes, notes: String::new(), kind: Kind::Remove })
}

/// What a file would say without us: byte for byte what it said before, where nobody changed it since.
fn undone(client: &str, record: &FileRecord, now: Option<&str>, place: &Place) -> Result<Option<String>> {
    let before = record::before(place, client, record)?;
    let Some(now) = now else { return Ok(None) };
    if now == record.after {
        return Ok(before);
    }
    let text = edit::undo(record.format, now, before.as_deref().unwrap_or_default(), &record.fields)?;
    Ok((before.is_some() || !edit::is_empty(record.format, &text)).then_some(text))
}

/// Makes the changes. Copies and notes are written first, so that whatever stops it can be undone.
///
/// # Errors
/// When a file cannot be written, or was changed since the plan was made.
pub fn apply(plan: &Plan, place: &Place) -> Result<()> {
    match plan.kind {
        Kind::Connect if plan.changes.is_empty() => Ok(()),
        Kind::Connect => connect(plan, place),
        Kind::Remove => {
            plan.changes.iter().try_for_each(write)?;
            record::remove(place, plan.client)
        }
    }
}

fn connect(plan: &Plan, place: &Place) -> Result<()> {
    let mut records = Vec::with_capacity(plan.changes.len());
    for (idx, change) in plan.changes.iter().enumerate() {
        let backup = change.base.as_ref().map(|_| record::backup_name(idx, &change.path));
        if let (Some(name), Some(base)) = (&backup, &change.base) {
            record::back_up(place, plan.client, name, base)?;
        }
        let missing = file::missing(change.path.parent().context("a file of settings lies in a folder")?);
        records.push(FileRecord {
            path: change.path.clone(),
            format: change.format,
            fields: change.fields.clone(),
            backup,
            after: change.after.clone().unwrap_or_default(),
            made: if change.made.is_empty() { missing } else { change.made.clone() },
        });
    }
    record::write(place, plan.client, &records)?;
    plan.changes.iter().try_for_each(write)
}

fn write(change: &Change) -> Result<()> {
    match (&change.now, &change.after) {
        _ if change.is_none() => Ok(()),
        (now, Some(after)) => file::replace(&change.path, now.as_deref(), after),
        (Some(now), None) => file::delete(&change.path, now, &change.made),
        (None, None) => Ok(()),
    }
}
