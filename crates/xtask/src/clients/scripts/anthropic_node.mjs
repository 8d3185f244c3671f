// Anthropic's SDK for Node. Usage: node anthropic_node.mjs READY STRICT BUSY LOADING
import assert from "node:assert";
import { createRequire } from "node:module";

const Anthropic = createRequire(process.env.CLIENT_FOLDER + "/")("@anthropic-ai/sdk");
const [READY, STRICT, BUSY, LOADING] = process.argv.slice(2);
const CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]';
const ask = {
  model: "scripted",
  max_tokens: 200,
  tools: [{ name: "look", input_schema: { type: "object", properties: { at: { type: "string" } } } }],
};
const client = (baseURL, apiKey = "right") => new Anthropic({ baseURL, apiKey, maxRetries: 0 });

async function fails(status, kind, call) {
  const error = await call().then(() => null, (error) => error);
  assert(error instanceof kind && error.status === status, `${status}: ${error}`);
  console.log("ok", status, "raises", kind.name);
}

const messages = [{ role: "user", content: CALL }];
const asked = await client(READY).messages.create({ messages, ...ask });
const call = asked.content.at(-1);
assert.deepEqual(call.input, { at: "sea" });
const final = await client(READY).messages.stream({ messages, ...ask }).finalMessage();
assert.deepEqual(final.content.at(-1).input, { at: "sea" });
messages.push({ role: "assistant", content: asked.content });
messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "blue-4711" }] });
const said = await client(READY).messages.create({ messages, ...ask });
assert.equal(said.content[0].text, "The tool said: blue-4711");

const small = { model: "scripted", max_tokens: 5, messages: [{ role: "user", content: "hi" }] };
const big = { ...small, messages: [{ role: "user", content: "x".repeat(30000) }] };
const create = (url, body, key) => client(url, key).messages.create(body);
await fails(400, Anthropic.BadRequestError, () => create(STRICT, { ...small, messages: [] }));
await fails(401, Anthropic.AuthenticationError, () => create(STRICT, small, "wrong"));
await fails(404, Anthropic.NotFoundError, () => create(STRICT, { ...small, model: "none" }));
await fails(413, Anthropic.APIError, () => create(STRICT, big));
await fails(429, Anthropic.RateLimitError, () => create(BUSY, small));
await fails(503, Anthropic.InternalServerError, () => create(LOADING, small));
console.log("all checks passed");
