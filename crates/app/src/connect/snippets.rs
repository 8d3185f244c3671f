//! What a person pastes or does where no file is edited. Code comes alone, so that it can be piped into a file and run.

use serde_json::Value;

use super::Target;

/// Text as source code of most languages quotes it.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Text as one word of a shell.
fn word(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_safe) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Base URL, model and key, quoted.
struct Words {
    address: String,
    openai: String,
    model: String,
    key: String,
}

fn words(target: &Target) -> Words {
    Words {
        address: quoted(&target.address),
        openai: quoted(&target.openai_url()),
        model: quoted(&target.model),
        key: quoted(target.key_or_any()),
    }
}

pub fn openai_python(target: &Target) -> String {
    let Words { openai, model, key, .. } = words(target);
    format!(
        r#"from openai import OpenAI

client = OpenAI(base_url={openai}, api_key={key})
answer = client.chat.completions.create(
    model={model},
    messages=[{{"role": "user", "content": "Say hello."}}],
)
print(answer.choices[0].message.content)
"#
    )
}

pub fn openai_node(target: &Target) -> String {
    let Words { openai, model, key, .. } = words(target);
    format!(
        r#"import OpenAI from "openai";

const client = new OpenAI({{ baseURL: {openai}, apiKey: {key} }});
const answer = await client.chat.completions.create({{
  model: {model},
  messages: [{{ role: "user", content: "Say hello." }}],
}});
console.log(answer.choices[0].message.content);
"#
    )
}

pub fn anthropic_python(target: &Target) -> String {
    let Words { address, model, key, .. } = words(target);
    format!(
        r#"from anthropic import Anthropic

client = Anthropic(base_url={address}, api_key={key})
answer = client.messages.create(
    model={model},
    max_tokens=1024,
    messages=[{{"role": "user", "content": "Say hello."}}],
)
print("".join(block.text for block in answer.content if block.type == "text"))
"#
    )
}

pub fn anthropic_node(target: &Target) -> String {
    let Words { address, model, key, .. } = words(target);
    format!(
        r#"import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({{ baseURL: {address}, apiKey: {key} }});
const answer = await client.messages.create({{
  model: {model},
  max_tokens: 1024,
  messages: [{{ role: "user", content: "Say hello." }}],
}});
console.log(answer.content.filter((block) => block.type === "text").map((block) => block.text).join(""));
"#
    )
}

pub fn ollama_python(target: &Target) -> String {
    let Words { address, model, .. } = words(target);
    let key = quoted(&format!("Bearer {}", target.key_or_any()));
    format!(
        r#"from ollama import Client

client = Client(host={address}, headers={{"Authorization": {key}}})
answer = client.chat({model}, [{{"role": "user", "content": "Say hello."}}])
print(answer.message.content)
"#
    )
}

pub fn ai_sdk(target: &Target) -> String {
    let Words { openai, model, key, .. } = words(target);
    format!(
        r#"import {{ createOpenAICompatible }} from "@ai-sdk/openai-compatible";
import {{ generateText }} from "ai";

const tokbar = createOpenAICompatible({{
  name: "tokbar",
  baseURL: {openai},
  apiKey: {key},
  supportsStructuredOutputs: true,
}});
const {{ text }} = await generateText({{ model: tokbar({model}), prompt: "Say hello." }});
console.log(text);
"#
    )
}

pub fn langchain(target: &Target) -> String {
    let Words { openai, model, key, .. } = words(target);
    format!(
        r#"from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model={model}, base_url={openai}, api_key={key})
print(llm.invoke("Say hello.").content)
"#
    )
}

pub fn litellm(target: &Target) -> String {
    let Words { openai, key, .. } = words(target);
    let model = quoted(&format!("openai/{}", target.model));
    format!(
        r#"import litellm

answer = litellm.completion(
    model={model},
    api_base={openai},
    api_key={key},
    messages=[{{"role": "user", "content": "Say hello."}}],
)
print(answer.choices[0].message.content)
"#
    )
}

pub fn shell(target: &Target) -> String {
    let key = word(target.key_or_any());
    let (address, openai, model) = (word(&target.address), word(&target.openai_url()), word(&target.model));
    format!(
        "export OPENAI_BASE_URL={openai}\nexport OPENAI_API_BASE={openai}\nexport OPENAI_API_KEY={key}\n\
         export OPENAI_MODEL={model}\nexport ANTHROPIC_BASE_URL={address}\nexport ANTHROPIC_AUTH_TOKEN={key}\n\
         export ANTHROPIC_MODEL={model}\nexport OLLAMA_HOST={address}\n"
    )
}

pub fn open_webui(target: &Target) -> String {
    let port = target.address.rsplit(':').next().unwrap_or("8000");
    let key = word(target.key_or_any());
    format!(
        "On a Mac a container reaches this machine as host.docker.internal, which the server must know by name:\n\n\
         tokbar serve MODEL --allow-host host.docker.internal\n\
         docker run -d --name open-webui -p 3000:8080 -v open-webui:/app/backend/data \\\n  \
         -e OPENAI_API_BASE_URL=http://host.docker.internal:{port}/v1 -e OPENAI_API_KEY={key} \\\n  \
         -e ENABLE_OLLAMA_API=false ghcr.io/open-webui/open-webui:main\n\n\
         On Linux it shares this machine's network instead:\n\n\
         docker run -d --name open-webui --network host -v open-webui:/app/backend/data -e PORT=3000 \\\n  \
         -e OPENAI_API_BASE_URL={} -e OPENAI_API_KEY={key} \\\n  \
         -e ENABLE_OLLAMA_API=false ghcr.io/open-webui/open-webui:main\n\n\
         Then open http://localhost:3000 and choose {}.\n",
        word(&target.openai_url()),
        target.model
    )
}

pub fn cursor(target: &Target) -> String {
    format!(
        "Cursor calls models from its makers' servers, so that it cannot reach localhost. What works is a tunnel of your own, with\n\
         an address of its own and a key:\n\n\
         1. Make a key: tokbar key add cursor\n\
         2. Start the server with the tunnel's name: tokbar serve MODEL --allow-host TUNNEL.EXAMPLE\n\
         3. In Cursor: Settings, Models, API Keys. Switch on \"Override OpenAI Base URL\" with https://TUNNEL.EXAMPLE/v1 and\n   \
         enter the key.\n\
         4. Add a custom model named {} and choose it in the chat.\n\n\
         Whoever has the tunnel's address can reach the server: keep the key to yourself, and close the tunnel after use.\n",
        target.model
    )
}

pub fn cline(target: &Target) -> String {
    format!(
        "These are the settings of its command line program. In an editor: Cline, Settings, API Provider \"OpenAI Compatible\", then\n\n  \
         Base URL  {}\n  API Key   {}\n  Model ID  {}\n  Context window  {}",
        target.openai_url(),
        if target.key.is_some() { "the server's key" } else { "any text" },
        target.model,
        target.n_context,
    )
}
