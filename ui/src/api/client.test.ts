import { expect, test } from "vitest";

import { Client, Failure } from "./client";

const session = { token: "tk-1", shell: "browser", base: "" } as const;

function answering(response: () => Response | Promise<Response>) {
  const calls: { url: string; init: RequestInit }[] = [];
  const client = new Client(session, (url, init) => {
    calls.push({ url: String(url), init: init ?? {} });
    return Promise.resolve(response());
  });
  return { client, calls };
}

test("calls carry the token in a header and never in the address", async () => {
  const { client, calls } = answering(() => Response.json({ ok: true }));
  await client.get("/control/v1/models/one", { model: "a/b c", context: null });
  await client.post("/control/v1/models/load", { model: "a" });
  expect(calls[0]?.url).toBe("/control/v1/models/one?model=a%2Fb%20c");
  expect(calls[0]?.init.headers).toEqual({ authorization: "Bearer tk-1" });
  expect(calls[1]?.init.headers).toEqual({ authorization: "Bearer tk-1", "content-type": "application/json" });
  expect(calls[1]?.init.body).toBe('{"model":"a"}');
});

test.each([
  [() => Response.json({ error: { message: "no room", code: "busy", param: "model" } }, { status: 507 }), "no room", 507, "busy", "model"],
  [() => new Response("oops", { status: 502 }), "the server answered with status 502", 502, null, null],
  [() => Response.json({ error: null }, { status: 500 }), "the server answered with status 500", 500, null, null],
  [() => Promise.reject(new TypeError("fetch failed")), "Tokbar does not answer", 0, null, null],
])("a failure names its cause", async (response, message, status, code, param) => {
  const error = await answering(response).client.get("/x").catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({ message, status, code, param });
});
