// OpenAI's SDK for Node. Usage: node openai_node.mjs READY STRICT BUSY LOADING
import assert from "node:assert";
import { createRequire } from "node:module";

const OpenAI = createRequire(process.env.CLIENT_FOLDER + "/")("openai");
const [READY, STRICT, BUSY, LOADING] = process.argv.slice(2);
const CALL = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]';
const parameters = { type: "object", properties: { at: { type: "string" } } };
const tools = [{ type: "function", function: { name: "look", parameters } }];
const client = (url, apiKey = "right") => new OpenAI({ baseURL: url + "/v1", apiKey, maxRetries: 0 });

async function fails(status, kind, call) {
  const error = await call().then(() => null, (error) => error);
  assert(error instanceof kind && error.status === status, `${status}: ${error}`);
  console.log("ok", status, "raises", kind.name);
}

const messages = [{ role: "user", content: CALL }];
const asked = (await client(READY).chat.completions.create({ model: "scripted", messages, tools })).choices[0].message;
assert.deepEqual(JSON.parse(asked.tool_calls[0].function.arguments), { at: "sea" });
const stream = client(READY).chat.completions.stream({ model: "scripted", messages, tools });
const final = await stream.finalMessage();
assert.deepEqual(JSON.parse(final.tool_calls[0].function.arguments), { at: "sea" });
messages.push(asked, { role: "tool", tool_call_id: asked.tool_calls[0].id, content: "blue-4711" });
const said = await client(READY).chat.completions.create({ model: "scripted", messages, tools });
assert.equal(said.choices[0].message.content, "The tool said: blue-4711");

const small = { model: "scripted", messages: [{ role: "user", content: "hi" }] };
const big = { ...small, messages: [{ role: "user", content: "x".repeat(30000) }] };
const create = (url, body, key) => client(url, key).chat.completions.create(body);
await fails(400, OpenAI.BadRequestError, () => create(STRICT, { ...small, messages: [] }));
await fails(401, OpenAI.AuthenticationError, () => create(STRICT, small, "wrong"));
await fails(404, OpenAI.NotFoundError, () => create(STRICT, { ...small, model: "none" }));
await fails(413, OpenAI.APIError, () => create(STRICT, big));
await fails(429, OpenAI.RateLimitError, () => create(BUSY, small));
await fails(503, OpenAI.InternalServerError, () => create(LOADING, small));
console.log("all checks passed");
