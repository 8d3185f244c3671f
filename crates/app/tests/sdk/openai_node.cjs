// Chats through the official Node SDK. Usage: node openai_node.cjs BASE_URL
const OpenAI = require("openai");

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "What is the capital of France?" }];
const greedy = { model: "default", temperature: 0, max_tokens: 24 };

function check(what, holds, seen) {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(seen)}`);
  console.log("ok", what);
}

async function main() {
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  check("models are listed", models.length >= 1, models);

  const whole = await client.chat.completions.create({ messages, ...greedy });
  const text = whole.choices[0].message.content;
  check("the answer names Paris", text.includes("Paris"), text);

  let streamed = "";
  let usage;
  const stream = await client.chat.completions.create({ messages, stream: true, stream_options: { include_usage: true }, ...greedy });
  for await (const chunk of stream) {
    streamed += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  check("streaming gives the same text", streamed === text, streamed);
  check("usage comes last", usage.total_tokens === whole.usage.total_tokens, usage);

  const completed = await client.completions.create({ prompt: "The capital of France is", ...greedy, max_tokens: 4 });
  check("a plain completion goes on", completed.choices[0].text.length > 0, completed);

  const cut = await client.chat.completions.create({ messages, stream: true, ...greedy, max_tokens: 512 });
  for await (const _ of cut) break;
  const after = await client.chat.completions.create({ messages, ...greedy });
  check("the server goes on after a client that left", after.choices[0].message.content === text, after);

  const error = await client.chat.completions.create({ model: "no-such-model", messages }).then(() => null, (error) => error);
  check("an unknown model is refused by name", error?.status === 404 && error.message.includes("no-such-model"), error);
  console.log("all checks passed");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
