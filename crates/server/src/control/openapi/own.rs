//! The control API as a table. A test asks a running server for each row.

use schemars::generate::SchemaGenerator;
use schemars::{Schema, json_schema};

use super::Answer::{Events, Json, Text};
use super::{Endpoint, SchemaOf, of};
use crate::control::ask::{Done, OfModel};
use crate::control::bench::{BenchBody, BenchInfo, BenchRun, ForExport};
use crate::control::clients::{ApplyBody, ClientList, ClientPlan, ClientTest, OfClient};
use crate::control::cloud_key::{CloudKeyBody, CloudKeyInfo};
use crate::control::conversations::{Conversation, ConversationList, ForConversations};
use crate::control::key_ring::{KeyBody, KeyList, KeyNameBody, NewKey};
use crate::control::live::{ForPeriod, Live};
use crate::control::logs::{ForLines, LogLine};
use crate::control::models::{DeleteBody, ForContext, ForWords, ModelSettingsBody, PinBody, PlaceBody, UnloadBody};
use crate::control::requests::Calls;
use crate::control::settings::SettingsAnswer;
use crate::control::shelf::{Found, ModelDetail, ModelSettings, Places, Removal, Removed, Shelf};
use crate::control::status::Status;
use crate::control::tools::{Decision, ToolCensus};
use crate::control::transfers::{DownloadBody, ImportBody, OfId, Transfer, TransferList};
use crate::control::upkeep::{DiskCache, Findings, Nothing};

const fn get(path: &'static str, about: &'static str, answer: super::Answer) -> Endpoint {
    Endpoint { method: "get", path, about, query: None, body: None, answer }
}

const fn ask(path: &'static str, about: &'static str, query: SchemaOf, answer: super::Answer) -> Endpoint {
    Endpoint { method: "get", path, about, query: Some(query), body: None, answer }
}

const fn post(path: &'static str, about: &'static str, body: SchemaOf, answer: super::Answer) -> Endpoint {
    Endpoint { method: "post", path, about, query: None, body: Some(body), answer }
}

const fn patch(path: &'static str, about: &'static str, body: SchemaOf, answer: super::Answer) -> Endpoint {
    Endpoint { method: "patch", path, about, query: None, body: Some(body), answer }
}

const fn put(path: &'static str, about: &'static str, body: SchemaOf, answer: super::Answer) -> Endpoint {
    Endpoint { method: "put", path, about, query: None, body: Some(body), answer }
}

const fn delete(path: &'static str, about: &'static str, answer: super::Answer) -> Endpoint {
    Endpoint { method: "delete", path, about, query: None, body: None, answer }
}

/// Some of the settings, by section.
fn some_settings(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "description": "Some of the settings, by section; null sets one back.",
        "additionalProperties": { "type": "object" },
    })
}

#[rustfmt::skip] // A table: one row per line.
pub const ENDPOINTS: &[Endpoint] = &[
    get("/control/v1/status", "What this server is, where it is and what it does.", Json(of::<Status>)),
    ask("/control/v1/live", "What goes on, frame by frame.", of::<ForPeriod>, Events("frame", of::<Live>)),
    get("/control/v1/live/now", "What goes on.", Json(of::<Live>)),
    get("/control/v1/requests", "Calls that run.", Json(of::<Calls>)),
    post("/control/v1/requests/cancel", "Cancels a call.", of::<OfId>, Json(of::<Done>)),
    ask("/control/v1/models", "Models on disk and known ones.", of::<ForContext>, Json(of::<Shelf>)),
    ask("/control/v1/models/one", "One model, closely.", of::<OfModel>, Json(of::<ModelDetail>)),
    post("/control/v1/models/load", "Loads a model; answers once it is loaded.", of::<OfModel>, Json(of::<Done>)),
    post("/control/v1/models/unload", "Unloads a model, or all.", of::<UnloadBody>, Json(of::<Done>)),
    post("/control/v1/models/pin", "Keeps a model loaded, or no longer does.", of::<PinBody>, Json(of::<Done>)),
    ask("/control/v1/models/settings", "How a model is to be loaded.", of::<OfModel>, Json(of::<ModelSettings>)),
    patch("/control/v1/models/settings", "Changes how a model is to be loaded.", of::<ModelSettingsBody>, Json(of::<ModelSettings>)),
    ask("/control/v1/models/removal", "What removing a model from the disk would do.", of::<OfModel>, Json(of::<Removal>)),
    post("/control/v1/models/delete", "Removes a model from the disk.", of::<DeleteBody>, Json(of::<Removed>)),
    post("/control/v1/models/import", "Imports a GGUF file.", of::<ImportBody>, Json(of::<Transfer>)),
    get("/control/v1/places", "Folders that models lie in.", Json(of::<Places>)),
    post("/control/v1/places/add", "Looks into a folder from now on.", of::<PlaceBody>, Json(of::<Places>)),
    post("/control/v1/places/forget", "Looks into a folder no more.", of::<PlaceBody>, Json(of::<Places>)),
    ask("/control/v1/search", "Looks for models on the Hub.", of::<ForWords>, Json(of::<Found>)),
    get("/control/v1/transfers", "Downloads and imports.", Json(of::<TransferList>)),
    post("/control/v1/transfers", "Begins a download.", of::<DownloadBody>, Json(of::<Transfer>)),
    post("/control/v1/transfers/pause", "Pauses a download.", of::<OfId>, Json(of::<Transfer>)),
    post("/control/v1/transfers/resume", "Goes on with a download.", of::<OfId>, Json(of::<Transfer>)),
    post("/control/v1/transfers/cancel", "Gives a download up and removes what came.", of::<OfId>, Json(of::<Transfer>)),
    post("/control/v1/transfers/clear", "Shows a download no more that is over.", of::<OfId>, Json(of::<Transfer>)),
    get("/control/v1/settings", "What a person decided.", Json(of::<SettingsAnswer>)),
    patch("/control/v1/settings", "Decides otherwise.", some_settings, Json(of::<SettingsAnswer>)),
    get("/control/v1/keys", "API keys, without their secrets.", Json(of::<KeyList>)),
    post("/control/v1/keys", "Makes an API key; its secret is told this once.", of::<KeyBody>, Json(of::<NewKey>)),
    post("/control/v1/keys/remove", "Removes an API key.", of::<KeyNameBody>, Json(of::<KeyList>)),
    get("/control/v1/cloud/key", "Whether a key of the cloud is kept.", Json(of::<CloudKeyInfo>)),
    post("/control/v1/cloud/key", "Keeps the key of the cloud.", of::<CloudKeyBody>, Json(of::<CloudKeyInfo>)),
    post("/control/v1/cloud/key/remove", "Forgets the key of the cloud.", of::<Nothing>, Json(of::<CloudKeyInfo>)),
    ask("/control/v1/logs", "The log, as it comes.", of::<ForLines>, Events("line", of::<LogLine>)),
    get("/control/v1/clients", "Programs that can use the server.", Json(of::<ClientList>)),
    ask("/control/v1/clients/one", "What setting a client up would do.", of::<OfClient>, Json(of::<ClientPlan>)),
    post("/control/v1/clients/apply", "Sets a client up.", of::<ApplyBody>, Json(of::<ClientPlan>)),
    post("/control/v1/clients/remove", "Takes back what was set up.", of::<OfClient>, Json(of::<ClientPlan>)),
    post("/control/v1/clients/test", "Makes a call as a client would.", of::<OfClient>, Json(of::<ClientTest>)),
    ask("/control/v1/conversations", "What was talked about, by its words.", of::<ForConversations>, Json(of::<ConversationList>)),
    get("/control/v1/conversations/{id}", "A conversation, whole.", Json(of::<Conversation>)),
    put("/control/v1/conversations/{id}", "Keeps a conversation, in place of what had its id.", of::<Conversation>, Json(of::<Done>)),
    delete("/control/v1/conversations/{id}", "Forgets a conversation.", Json(of::<Done>)),
    get("/control/v1/tools", "Tools that the server calls for models, and calls that wait for a word.", Json(of::<ToolCensus>)),
    post("/control/v1/tools/decide", "A person's word on a call that waits.", of::<Decision>, Json(of::<Done>)),
    get("/control/v1/bench", "What can be measured, and what was.", Json(of::<BenchInfo>)),
    post("/control/v1/bench/run", "Begins a measurement.", of::<BenchBody>, Json(of::<BenchRun>)),
    post("/control/v1/bench/cancel", "Ends a measurement early.", of::<OfId>, Json(of::<BenchRun>)),
    ask("/control/v1/bench/export", "A measurement as a file.", of::<ForExport>, Text),
    get("/control/v1/cache", "The KV cache on disk.", Json(of::<DiskCache>)),
    post("/control/v1/cache/clear", "Removes what no running model uses.", of::<Nothing>, Json(of::<DiskCache>)),
    get("/control/v1/doctor", "What is wrong on this machine.", Json(of::<Findings>)),
    post("/control/v1/shutdown", "Ends the server once its calls are done.", of::<Nothing>, Json(of::<Done>)),
];
