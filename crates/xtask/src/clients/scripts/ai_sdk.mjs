// The AI SDK. Usage: node ai_sdk.mjs READY STRICT BUSY LOADING
import assert from "node:assert";
import { createRequire } from "node:module";

const load = createRequire(process.env.CLIENT_FOLDER + "/");
const { APICallError, generateText, jsonSchema, stepCountIs, streamText, tool } = load("ai");
const { createOpenAICompatible } = load("@ai-sdk/openai-compatible");
const [READY, STRICT, BUSY, LOADING] = process.argv.slice(2);
const prompt = 'look [[{"name": "look", "arguments": {"at": "sea"}}]]';
const inputSchema = jsonSchema({ type: "object", properties: { at: { type: "string" } }, required: ["at"] });
const tools = { look: tool({ description: "Looks.", inputSchema, execute: async ({ at }) => (at === "sea" ? "blue-4711" : "?") }) };

function model(url, apiKey = "right", name = "scripted") {
  return createOpenAICompatible({ name: "tokbar", baseURL: url + "/v1", apiKey })(name);
}

async function fails(status, call) {
  const error = await call().then(() => null, (error) => error);
  assert(APICallError.isInstance(error) && error.statusCode === status, `${status}: ${error}`);
  console.log("ok", status, "raises APICallError");
}

const stopWhen = stepCountIs(3);
const whole = await generateText({ model: model(READY), prompt, tools, stopWhen });
assert.equal(whole.text, "The tool said: blue-4711");
const streamed = streamText({ model: model(READY), prompt, tools, stopWhen });
let text = "";
for await (const piece of streamed.textStream) text += piece;
assert.equal(text, "The tool said: blue-4711");

const ask = (model, prompt = "hi", options = {}) => generateText({ model, prompt, maxRetries: 0, ...options });
await fails(400, () => ask(model(STRICT), "hi", { temperature: -1 }));
await fails(401, () => ask(model(STRICT, "wrong")));
await fails(404, () => ask(model(STRICT, "right", "none")));
await fails(413, () => ask(model(STRICT), "x".repeat(30000)));
await fails(429, () => ask(model(BUSY)));
await fails(503, () => ask(model(LOADING)));
console.log("all checks passed");
