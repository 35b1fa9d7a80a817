// Paths that no endpoint or procedure has: the routes of the sign-in library, which are not mounted,
// and alternative spellings of existing paths.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { password, sendRaw, startTestApp, type TestApp } from "../test-app.ts";
import { prepareFixture, type TenantFixture } from "./fixture.ts";
import { expectEffect, observe } from "./rows.ts";

let app: TestApp;
let fixture: TenantFixture;
let cookie: string;
let key: string;

beforeAll(async () => {
  app = await startTestApp();
  fixture = await prepareFixture(app);
  const { owner } = fixture.people;
  const { cookies } = await app.services.sessions.open(owner.userId, {
    headers: new Headers(),
    address: null,
  });
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
  test.each(libraryPaths)("%s responds like any unknown path", async (path) => {
    const { email } = fixture.people.owner;
    const send = async (target: string, method: string) => {
      const body = JSON.stringify({ name: "New", email, password, newPassword: password, token: "x" });
      const response = await fetch(app.baseUrl + target, {
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

/** Spellings of a path that two parts of a server might interpret differently. */
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
  "%s discloses nothing without a key or session, in any spelling",
  async (path) => {
    const { tenant, people, ownersKey } = fixture;
    for (const target of spellings(path)) {
      const query = path.endsWith("apiKeys.list") ? "?input={}" : "";
      const { body, status } = await sendRaw(
        app.baseUrl,
        `GET ${target}${query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      );
      for (const hidden of [tenant.id, tenant.name, people.owner.email, ownersKey.name])
        expect(body).not.toContain(hidden);
      expect(status, target).toBeLessThan(500);
    }
  },
);

test("a key is valid only under /open and a session only under /trpc, in any spelling of the path", async () => {
  const { tenant, people, ownersKey } = fixture;
  for (const [path, header] of [
    ["/open/me", `Cookie: ${cookie}`],
    ["/trpc/apiKeys.list", `Authorization: Bearer ${key}`],
    ["/trpc/session.current", `Authorization: Bearer ${key}`],
  ] as const) {
    for (const target of spellings(path)) {
      const request = `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${header}\r\nConnection: close\r\n\r\n`;
      const { body, status } = await sendRaw(app.baseUrl, request);
      for (const hidden of [tenant.id, tenant.name, people.owner.email, ownersKey.name])
        expect(body).not.toContain(hidden);
      expect(status, target).toBeLessThan(500);
    }
  }
});

test.each(["__proto__", "constructor", "toString", "session.__proto__", "session.constructor", "session"])(
  "responds with 404 to the unknown procedure %s",
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
