import { afterEach, expect, test } from "vitest";

import { loopback, openSession } from "./session";

afterEach(() => {
  sessionStorage.clear();
  history.replaceState(null, "", "/");
});

test("the token leaves the address at once and stays with the tab", () => {
  history.replaceState(null, "", "/#token=tk-1&panel=settings");
  expect(openSession()).toEqual({ token: "tk-1", shell: "browser", base: "" });
  expect(location.href).not.toContain("tk-1");
  expect(location.hash).toBe("#/settings");
  history.replaceState(null, "", "/#/models");
  expect(openSession().token).toBe("tk-1");
  expect(location.hash).toBe("#/models");
});

test("without a token there is none", () => {
  expect(openSession().token).toBeNull();
});

test.each([
  ["http://127.0.0.1:8000", "http://127.0.0.1:8000"],
  ["http://localhost:8000/x?y", "http://localhost:8000"],
  ["http://[::1]:8000", "http://[::1]:8000"],
  ["https://localhost", null],
  ["http://example.com", null],
  ["http://127.0.0.1.example.com", null],
  ["http://localhost@example.com", null],
  ["javascript:alert(1)", null],
  ["", null],
  [null, null],
])("the token goes to %s only if that is this machine", (server, expected) => {
  expect(loopback(server)).toBe(expected);
});
