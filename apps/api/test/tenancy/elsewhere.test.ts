// Addresses that no endpoint and no procedure has: of the sign-in library, whose routes are not mounted, and guards spelt otherwise.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { password, sendRaw, startTestApp, type TestApp } from "../test-app.ts";
import { expectEffect, observe } from "./rows.ts";
import { type Stage, setStage } from "./stage.ts";

let app: TestApp;
let stage: Stage;
let cookie: string;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  stage = await setStage(app);
  const { owner } = stage.people;
  const { cookies } = await app.instance.sessions.open(owner.userId, new Headers());
  cookie = cookies[0]?.split(";")[0] ?? "";
  key = (await app.addKey(owner.userId)).secret;
});
afterAll(() => app.close());

const libraryPaths = [
  "sign-up/email",
  "sign-in/email",
  "sign-in/social",
  "sign-out",
  "get-session",
  "list-sessions",
  "revoke-session",
  "revoke-sessions",
  "update-user",
  "delete-user",
  "change-password",
  "change-email",
  "set-password",
  "request-password-reset",
  "reset-password",
  "verify-email",
  "list-accounts",
  "link-social",
  "callback/google",
  "find-live-session",
  "token",
  "error",
  "ok",
];

describe.each(["/api/auth", "/auth"])("the sign-in library's routes under %s", (base) => {
  test.each(libraryPaths)("%s is as good as an address that nobody has", async (path) => {
    const { email } = stage.people.owner;
    const send = async (address: string, method: string) => {
      const body = JSON.stringify({ name: "New", email, password, newPassword: password, token: "x" });
      const response = await fetch(app.baseUrl + address, {
        method,
        headers: { Cookie: cookie, "Content-Type": "application/json" },
        ...(method === "POST" ? { body } : {}),
      });
      const text = (await response.text()).replace(/"requestId":"[^"]+"/, "");
      return { status: response.status, text, cookies: response.headers.getSetCookie() };
    };
    for (const method of ["GET", "POST"]) {
      const { result, before, after } = await observe(app.owner, () => send(`${base}/${path}`, method));
      expect(result).toEqual(await send("/nowhere/at-all", method));
      expect(result.cookies).toEqual([]);
      expect(result.status).toBe(404);
      expectEffect({ before, after }, {});
    }
  });
});

/** Ways to write an address that one part of a server might read otherwise than another. */
const spellings = (path: string): readonly string[] => [
  `http://x@elsewhere.example${path}`,
  path,
  `/${path}`,
  `/.${path}`,
  `/x/..${path}`,
  path.replace("/", "/%2e/"),
  path.toUpperCase(),
  path.replace(/^\/(.)/, (_match, first: string) => `/%${first.charCodeAt(0).toString(16)}`),
  path.replace(/\/(\w+)$/, "%2f$1"),
  path.replace(/\/(\w+)$/, "//$1"),
  `${path}/`,
  `${path};x=1`,
  `${path}%00`,
  `${path}.json`,
  `http://x${path}`,
];

test.each(["/open/me", "/open/workspaces", "/trpc/apiKeys.list", "/trpc/session.current"])(
  "%s tells nobody anything without a key or a session, however it is spelt",
  async (path) => {
    const { ours, people, ownersKey } = stage;
    for (const target of spellings(path)) {
      const query = path.endsWith("apiKeys.list") ? "?input={}" : "";
      const { body, status } = await sendRaw(
        app.baseUrl,
        `GET ${target}${query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
      for (const hidden of [ours.id, ours.name, people.owner.email, ownersKey.name])
        expect(body).not.toContain(hidden);
      expect(status, target).toBeLessThan(500);
    }
  },
);

test("a key opens /open alone, a session /trpc alone, however the address is spelt", async () => {
  const { ours, people, ownersKey } = stage;
  for (const [path, header] of [
    ["/open/me", `Cookie: ${cookie}`],
    ["/trpc/apiKeys.list", `Authorization: Bearer ${key}`],
    ["/trpc/session.current", `Authorization: Bearer ${key}`],
  ] as const) {
    for (const target of spellings(path)) {
      const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${header}\r\nConnection: close\r\n\r\n`;
      const { body, status } = await sendRaw(app.baseUrl, request);
      for (const hidden of [ours.id, ours.name, people.owner.email, ownersKey.name])
        expect(body).not.toContain(hidden);
      expect(status, target).toBeLessThan(500);
    }
  }
});

test.each(["__proto__", "constructor", "toString", "session.__proto__", "session.constructor", "session"])(
  "%s is no procedure",
  async (path) => {
    for (const method of ["GET", "POST"]) {
      const response = await fetch(`${app.baseUrl}/trpc/${path}`, {
        method,
        headers: { Cookie: cookie, "Content-Type": "application/json" },
        ...(method === "POST" ? { body: "{}" } : {}),
      });
      expect(response.status).toBe(404);
    }
  },
);
