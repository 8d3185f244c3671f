// Tools and errors through Anthropic's Node SDK. Usage: node anthropic_node.cjs CALLING ANSWERING STRICT BUSY LOADING
const Anthropic = require("@anthropic-ai/sdk");

const [CALLING, ANSWERING, STRICT, BUSY, LOADING] = process.argv.slice(2);
const look = { name: "look", input_schema: { type: "object", properties: { at: { type: "string" } } } };
const ask = { model: "tiny", max_tokens: 200, tools: [look] };

function client(baseURL, apiKey = "right") {
  return new Anthropic({ baseURL, apiKey, maxRetries: 0 });
}

function check(what, holds, seen) {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(seen)}`);
  console.log("ok", what);
}

async function fails(status, kind, call) {
  const error = await call().then(() => null, (error) => error);
  check(`${status} raises ${kind.name}`, error instanceof kind && error.status === status, error && { ...error });
}

async function main() {
  const messages = [{ role: "user", content: "look at the sea" }];
  const asked = await client(CALLING).messages.create({ messages, ...ask });
  const kinds = (message) => message.content.map((block) => block.type).join(" ");
  check("thought, text and call are blocks", kinds(asked) === "thinking text tool_use", asked);
  const call = asked.content[2];
  check("the call has its input", call.name === "look" && call.input.at === "sea" && asked.stop_reason === "tool_use", asked);

  const final = await client(CALLING).messages.stream({ messages, ...ask }).finalMessage();
  check("a stream adds up to the same", kinds(final) === kinds(asked) && final.content[2].input.at === "sea", final);

  messages.push({ role: "assistant", content: asked.content });
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "blue" }] });
  const said = await client(ANSWERING).messages.create({ messages, ...ask });
  check("the round trip ends in an answer", said.content[0].text === "It is blue.", said);

  const small = { model: "tiny", max_tokens: 5, messages: [{ role: "user", content: "hi" }] };
  const big = { ...small, messages: [{ role: "user", content: "x".repeat(30000) }] };
  await fails(400, Anthropic.BadRequestError, () => client(STRICT).messages.create({ ...small, messages: [] }));
  await fails(401, Anthropic.AuthenticationError, () => client(STRICT, "wrong").messages.create(small));
  await fails(404, Anthropic.NotFoundError, () => client(STRICT).messages.create({ ...small, model: "none" }));
  await fails(413, Anthropic.APIError, () => client(STRICT).messages.create(big));
  await fails(429, Anthropic.RateLimitError, () => client(BUSY).messages.create(small));
  await fails(503, Anthropic.InternalServerError, () => client(LOADING).messages.create(small));
  console.log("all checks passed");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
