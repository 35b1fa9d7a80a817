import { decodeId } from "@latchkey/db/ids";
import { disableUser } from "@latchkey/db/users";
import { maxLength } from "@latchkey/limits";
import { TRPCClientError } from "@trpc/client";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient as openClientAt } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const openClient = (origin = app) => openClientAt(origin.baseUrl);

async function signedIn() {
  const { email, userId } = await app.addUser();
  const session = openClient();
  await session.client.session.signIn.mutate({ email, password });
  return { ...session, email, userId };
}

async function getError(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string; issues?: { path: string; code: string }[] }> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof TRPCClientError)) throw new Error("It did not fail.");
  return { message: error.message, ...error.data };
}

interface TrpcFailure {
  readonly error: { readonly data: { readonly code: string } };
}

async function readError(response: Response): Promise<[number, string]> {
  const { error } = (await response.json()) as { error: { code: string } };
  return [response.status, error.code];
}

const json = { "Content-Type": "application/json" };

describe("accounts and sessions", () => {
  test("signing up creates an account, its first workspace and a session", async () => {
    const { client } = openClient();
    const email = `${crypto.randomUUID()}@Example.com`;
    const session = await client.session.signUp.mutate({ name: "Ada Lovelace", email, password });
    expect(session).toMatchObject({
      user: { name: "Ada Lovelace", email: email.toLowerCase() },
      workspaces: [{ name: "Ada Lovelace’s workspace", role: "owner" }],
    });
    expect(session.workspaces[0]?.slug).toMatch(/^ada-lovelaces-workspace/);
    expect(await client.session.current.query()).toEqual(session);
  });

  test("the name of the first workspace isn't too long for a user with the longest name", async () => {
    const { client } = openClient();
    const email = `${crypto.randomUUID()}@example.com`;
    const { user, workspaces } = await client.session.signUp.mutate({
      name: "🗝".repeat(maxLength.personName),
      email,
      password,
    });
    expect([...user.name]).toHaveLength(maxLength.personName);
    const [first] = workspaces;
    expect(first?.name).toMatch(/^🗝+’s workspace$/u);
    expect([...(first?.name ?? "")]).toHaveLength(maxLength.workspaceName);
    // The form of the workspace sends the name again.
    const edit = { workspaceId: first?.id ?? "", name: first?.name ?? "", version: 1 };
    expect(await client.workspaces.update.mutate(edit)).toMatchObject({ name: first?.name });
  });

  test("an email address has at most one account, in any letter case, even after concurrent sign-ups", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const attempts = await Promise.allSettled(
      [email, email.toUpperCase()].map((address) =>
        openClient().client.session.signUp.mutate({ name: "Ada", email: address, password }),
      ),
    );
    expect(attempts.map((attempt) => attempt.status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(
      await getError(openClient().client.session.signUp.mutate({ name: "Ada", email, password })),
    ).toMatchObject({ code: "CONFLICT" });
  });

  test.each<[string, string, object]>([
    ["name", "too_short", { name: " " }],
    ["name", "required", { name: undefined }],
    ["email", "invalid_format", { email: "nobody" }],
    ["password", "too_short", { password: "elevenchars" }],
    ["password", "too_long", { password: "x".repeat(129) }],
    ["role", "unknown_member", { role: "owner" }],
    ["name", "invalid_characters", { name: "nul\u0000" }],
    ["name", "invalid_characters", { name: "evil\u202etxt.exe" }],
  ])("a sign-up with an invalid %s is rejected with the field and code %s", async (path, reason, change) => {
    const input = { name: "Ada", email: `${crypto.randomUUID()}@example.com`, password, ...change };
    const { code, issues } = await getError(openClient().client.session.signUp.mutate(input));
    expect([code, issues]).toEqual(["BAD_REQUEST", [{ path, code: reason, message: expect.any(String) }]]);
  });

  test("sign-up is rejected if registration is closed", async () => {
    const closed = await startTestApp({ registration: "closed" });
    onTestFinished(() => closed.close());
    await closed.addUser();
    const attempt = openClient(closed).client.session.signUp.mutate({
      name: "Ada",
      email: "ada@example.com",
      password,
    });
    expect(await getError(attempt)).toMatchObject({ code: "FORBIDDEN" });
  });

  test.each(["invite", "closed"] as const)(
    "with %s registration, exactly one of several concurrent first sign-ups creates the operator's account",
    async (registration) => {
      const fresh = await startTestApp({ registration });
      onTestFinished(() => fresh.close());
      const { client } = openClient(fresh);
      expect(await client.instance.hasNoAccounts.query()).toBe(true);
      const signUp = () =>
        openClient(fresh).client.session.signUp.mutate({
          name: "Ada",
          email: `${crypto.randomUUID()}@example.com`,
          password,
        });
      const attempts = await Promise.allSettled(Array.from({ length: 6 }, signUp));
      const sessions = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
      expect(sessions).toMatchObject([{ user: { isOperator: true } }]);
      for (const attempt of attempts) {
        if (attempt.status === "rejected")
          expect(await getError(Promise.reject(attempt.reason))).toMatchObject({ code: "FORBIDDEN" });
      }
      expect(await getError(signUp())).toMatchObject({ code: "FORBIDDEN" });
      expect(await client.instance.hasNoAccounts.query()).toBe(false);
      const users = await fresh.owner.selectFrom("users").select("id").execute();
      expect(users).toHaveLength(1);
    },
  );

  test("a wrong password, an unknown email address and a disabled user get the same error", async () => {
    const { email } = await app.addUser();
    const disabled = await app.addUser();
    await app.services.db.transaction().execute((trx) => disableUser(trx, disabled.userId));
    const responses = await Promise.all([
      getError(openClient().client.session.signIn.mutate({ email, password: "another password" })),
      getError(openClient().client.session.signIn.mutate({ email: "nobody@example.com", password })),
      getError(openClient().client.session.signIn.mutate({ email: disabled.email, password })),
    ]);
    expect(new Set(responses.map(({ code, message }) => `${code} ${message}`))).toEqual(
      new Set(["UNAUTHORIZED The email address or password is wrong."]),
    );
  });

  test("each sign-in starts a new session, and signing out ends only its own", async () => {
    const { email, client, jar } = await signedIn();
    const other = openClient();
    await other.client.session.signIn.mutate({ email, password });
    const old = new Map(jar);
    expect(jar.get("latchkey-session")).not.toBe(other.jar.get("latchkey-session"));
    await client.session.signOut.mutate();
    expect(await client.session.current.query()).toBeNull();
    for (const [name, value] of old) jar.set(name, value);
    expect(await client.session.current.query()).toBeNull();
    expect(await other.client.session.current.query()).not.toBeNull();
  });

  test("signing in again ends the session that the browser had", async () => {
    const { email, client, jar } = await signedIn();
    const old = new Map(jar);
    await client.session.signIn.mutate({ email, password });
    expect(await client.session.current.query()).not.toBeNull();
    for (const [name, value] of old) jar.set(name, value);
    expect(await client.session.current.query()).toBeNull();
  });

  test("signing out everywhere and deleting the account clear the app's stored data, as signing out does", async () => {
    const call = async (procedure: string, inputOf: (email: string) => object) => {
      const { cookie, email } = await signedIn();
      const init = { method: "POST", headers: { ...json, Cookie: cookie() } };
      const body = JSON.stringify(inputOf(email));
      const response = await fetch(`${app.baseUrl}/trpc/account.${procedure}`, { ...init, body });
      return [response.status, response.headers.get("clear-site-data")];
    };
    expect(await call("signOutEverywhere", () => ({}))).toEqual([200, '"storage"']);
    expect(await call("delete", (email) => ({ email }))).toEqual([200, '"storage"']);
    expect(await call("rename", () => ({ name: "Grace" }))).toEqual([200, null]);
  });

  test("a sign-out that fails in the database keeps the session", async () => {
    const own = await startTestApp();
    onTestFinished(() => own.close());
    const { email } = await own.addUser();
    const { client } = openClient(own);
    await client.session.signIn.mutate({ email, password });
    await sql`create rule keep as on delete to sessions do instead select 1 / 0`.execute(own.owner);
    expect(await getError(client.session.signOut.mutate())).toMatchObject({ code: "INTERNAL_SERVER_ERROR" });
    await sql`drop rule keep on sessions`.execute(own.owner);
    expect(await client.session.current.query()).not.toBeNull();
  });

  test("a disabled user has no session on the next request", async () => {
    const { client, userId } = await signedIn();
    await app.services.db.transaction().execute((trx) => disableUser(trx, userId));
    expect(await client.session.current.query()).toBeNull();
    expect(await getError(client.apiKeys.list.query({}))).toMatchObject({ code: "UNAUTHORIZED" });
  });

  test("a session in use is renewed, in the database and in the browser", async () => {
    const { client, jar, userId } = await signedIn();
    const soon = new Date(Date.now() + 2 * 86_400_000);
    await app.services.db
      .updateTable("sessions")
      .set({ expires_at: soon })
      .where("user_id", "=", userId)
      .execute();
    jar.set("renewed", "no");
    const response = await fetch(`${app.baseUrl}/trpc/apiKeys.summary`, {
      headers: { Cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") },
    });
    expect(response.headers.getSetCookie()[0]).toMatch(/^latchkey-session=.*Max-Age=1209600/);
    const { expires_at: expiresAt } = await app.services.db
      .selectFrom("sessions")
      .select("expires_at")
      .where("user_id", "=", userId)
      .executeTakeFirstOrThrow();
    expect(expiresAt.getTime()).toBeGreaterThan(soon.getTime() + 86_400_000);
    expect(await client.session.current.query()).not.toBeNull();
  });

  test("the session cookie is HttpOnly and SameSite=Lax", async () => {
    const { email } = await app.addUser();
    const body = JSON.stringify({ email, password });
    const response = await fetch(`${app.baseUrl}/trpc/session.signIn`, {
      method: "POST",
      body,
      headers: json,
    });
    const [cookie, ...others] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^latchkey-session=/);
    expect(cookie).toMatch(/; HttpOnly/i);
    expect(cookie).toMatch(/; SameSite=Lax/i);
    expect(others).toEqual([expect.stringMatching(/^latchkey-device=/)]);
  });
});

describe("API keys", () => {
  test("a rate-limited key is shown as rate limited in the list, on its page and after a change", async () => {
    const { client } = await signedIn();
    const { id } = await client.apiKeys.create.mutate({ name: "CI" });
    const areRateLimited = async () => {
      const { items } = await client.apiKeys.list.query({});
      const changed = await client.apiKeys.update.mutate({ id, name: "Nightly" });
      const rotated = await client.apiKeys.revokeOldSecrets.mutate({ id });
      return [...items, await client.apiKeys.get.query({ id }), changed, rotated].map(
        ({ isRateLimited }) => isRateLimited,
      );
    };
    expect(await areRateLimited()).toEqual([false, false, false, false]);
    await sql`
      insert into key_usage_hours (key_id, hour, outcome, count)
      values (${decodeId("key", id)}, date_trunc('hour', now()), 'limited', 1)`.execute(app.owner);
    expect(await areRateLimited()).toEqual([true, true, true, true]);
  });

  test("a key can be created, listed, changed and deleted, and its secret is shown once", async () => {
    const { client } = await signedIn();
    const { id, key } = await client.apiKeys.create.mutate({ name: "CI", description: "for deploys" });
    expect(key).toMatch(/^lk_/);
    const { items, total } = await client.apiKeys.list.query({});
    expect(total).toBe(1);
    expect(items[0]).toMatchObject({
      id,
      name: "CI",
      description: "for deploys",
      usageCount: 0,
      lastUsedAt: null,
    });
    expect(JSON.stringify(items)).not.toContain(key);
    expect(await client.apiKeys.update.mutate({ id, name: "CD", description: "", version: 1 })).toMatchObject(
      {
        name: "CD",
        usageCount: 0,
      },
    );
    expect(await client.apiKeys.summary.query()).toEqual({ keyCount: 1, usageCount: 0, lastUsedAt: null });
    await client.apiKeys.delete.mutate({ id });
    expect(await getError(client.apiKeys.delete.mutate({ id }))).toMatchObject({ code: "NOT_FOUND" });
    expect((await client.apiKeys.list.query({})).total).toBe(0);
  });

  test.each(["nul\u0000", "\ud800", "x".repeat(101)])(
    "a search text that no name can contain is rejected",
    async (search) => {
      const { client } = await signedIn();
      expect(await getError(client.apiKeys.list.query({ search }))).toMatchObject({ code: "BAD_REQUEST" });
    },
  );

  test("a user can't list, change or delete another user's keys", async () => {
    const { client: owner } = await signedIn();
    const { client: stranger } = await signedIn();
    const { id } = await owner.apiKeys.create.mutate({ name: "mine" });
    expect((await stranger.apiKeys.list.query({})).total).toBe(0);
    expect(
      await getError(stranger.apiKeys.update.mutate({ id, name: "theirs", description: "", version: 1 })),
    ).toMatchObject({ code: "NOT_FOUND" });
    expect(await getError(stranger.apiKeys.delete.mutate({ id }))).toMatchObject({ code: "NOT_FOUND" });
    expect((await owner.apiKeys.list.query({})).items[0]).toMatchObject({ name: "mine" });
  });

  test("procedures for keys require a session", async () => {
    const { client } = openClient();
    const id = "key_01h455vb4pex5vsknk084sn02q";
    const attempts = [
      client.apiKeys.list.query({}),
      client.apiKeys.summary.query(),
      client.apiKeys.create.mutate({ name: "x" }),
      client.apiKeys.update.mutate({ id, name: "x", description: "", version: 1 }),
      client.apiKeys.delete.mutate({ id }),
    ];
    // They are sent in two batches, which can be answered in any order.
    for (const error of await Promise.all(attempts.map(getError)))
      expect(error).toMatchObject({ code: "UNAUTHORIZED" });
  });

  test("an API key is rejected on /trpc, and a session on /open", async () => {
    const { cookie } = await signedIn();
    const { secret } = await app.addKey();
    const bearer = { Authorization: `Bearer ${secret}` };
    expect((await fetch(`${app.baseUrl}/trpc/apiKeys.list?input={}`, { headers: bearer })).status).toBe(401);
    expect(
      (await fetch(`${app.baseUrl}/trpc/apiKeys.list?input={}`, { headers: { Cookie: cookie() } })).status,
    ).toBe(200);
    expect((await fetch(`${app.baseUrl}/open/me`, { headers: { Cookie: cookie() } })).status).toBe(401);
  });
});

describe("cross-site request forgery", () => {
  const signOut = (headers: Record<string, string>, body = "") =>
    fetch(`${app.baseUrl}/trpc/session.signOut`, { method: "POST", headers, body });

  test.each([
    ["another site", { "Sec-Fetch-Site": "cross-site" }],
    ["another host of the same site", { "Sec-Fetch-Site": "same-site" }],
    ["another origin, from a browser without Sec-Fetch-Site", { Origin: "https://elsewhere.example" }],
    ["a page without an origin", { Origin: "null" }],
  ])("a change sent by %s is rejected and not made", async (_who, headers) => {
    const { cookie, client } = await signedIn();
    const response = await signOut({ ...json, ...headers, Cookie: cookie() });
    expect(await readError(response)).toEqual([403, "FORBIDDEN"]);
    expect(await client.session.current.query()).not.toBeNull();
  });

  test.each([
    ["multipart/form-data; boundary=x", "--x--\r\n"],
    ["application/x-www-form-urlencoded", "a=b"],
    ["text/plain", "{}"],
    ["application/octet-stream", "x"],
  ])(
    "a change sent as %s, which needs no preflight request, is rejected and not made",
    async (type, body) => {
      const { cookie, client } = await signedIn();
      const response = await signOut({ "Content-Type": type, Cookie: cookie() }, body);
      expect(await readError(response)).toEqual([415, "UNSUPPORTED_MEDIA_TYPE"]);
      expect(await client.session.current.query()).not.toBeNull();
    },
  );

  test("a change sent as JSON by the app's own page is made", async () => {
    const { cookie, client } = await signedIn();
    const headers = { ...json, Cookie: cookie(), Origin: app.baseUrl, "Sec-Fetch-Site": "same-origin" };
    const response = await signOut(headers);
    expect([response.status, response.headers.get("clear-site-data")]).toEqual([200, '"storage"']);
    expect(await client.session.current.query()).toBeNull();
  });

  test("a change can't be made with GET", async () => {
    const { cookie, client } = await signedIn();
    const response = await fetch(`${app.baseUrl}/trpc/session.signOut`, { headers: { Cookie: cookie() } });
    expect(response.status).toBe(405);
    expect(await client.session.current.query()).not.toBeNull();
  });
});

describe("limits and errors", () => {
  test("a client that accepts a stream gets its cookies", async () => {
    const { email } = await app.addUser();
    const response = await fetch(`${app.baseUrl}/trpc/session.signIn`, {
      method: "POST",
      headers: { ...json, "trpc-accept": "application/jsonl" },
      body: JSON.stringify({ email, password }),
    });
    expect([response.status, response.headers.getSetCookie().length]).toEqual([200, 2]);
  });

  test("a body has at most 100 KiB, even if it is chunked", async () => {
    const url = `${app.baseUrl}/trpc/session.signIn`;
    const large = JSON.stringify({ email: "a@example.com", password: "x".repeat(200_000) });
    expect((await fetch(url, { method: "POST", headers: json, body: large })).status).toBe(413);
    const pieces = new Blob([large]).stream();
    const init = { method: "POST", headers: json, body: pieces, duplex: "half" } as RequestInit;
    expect((await fetch(url, init)).status).toBe(413);
  });

  test("a body that isn't UTF-8 is rejected instead of changed", async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    const send = async (encoding: "latin1" | "utf8") => {
      const body = Buffer.from(JSON.stringify({ name: "Café", email, password }), encoding);
      return await fetch(`${app.baseUrl}/trpc/session.signUp`, { method: "POST", headers: json, body });
    };
    expect(await readError(await send("latin1"))).toEqual([400, "BAD_REQUEST"]);
    expect((await send("utf8")).status).toBe(200);
  });

  test("a bug is disclosed only as a code and request ID, and logged with its details", async () => {
    const broken = await startTestApp();
    onTestFinished(() => broken.close());
    const { client } = openClient(broken);
    // Renaming a column simulates a bug in a query.
    await broken.owner.schema.alterTable("users").renameColumn("name", "title").execute();
    const { code, message, ...rest } = await getError(
      client.session.signUp.mutate({ name: "Ada", email: "ada@example.com", password }),
    );
    expect([code, message]).toEqual(["INTERNAL_SERVER_ERROR", "Internal server error"]);
    expect(JSON.stringify(rest)).not.toMatch(/column|select|stack/);
    const { requestId } = rest as unknown as { requestId: string };
    expect(broken.readLog()).toContain(requestId);
    expect(broken.readLog()).toContain("does not exist");
    expect(broken.readLog()).not.toContain(password);
  });

  test.each([
    ["an unknown procedure", "nothing.here", 404, "NOT_FOUND"],
    ["no procedure", "", 404, "NOT_FOUND"],
    ["input that isn't JSON", "session.signIn", 400, "BAD_REQUEST"],
  ])("%s gets a specific error", async (_what, path, status, code) => {
    const response = await fetch(`${app.baseUrl}/trpc/${path}`, { method: "POST", headers: json, body: "{" });
    const { error } = (await response.json()) as TrpcFailure;
    expect([response.status, error.data.code]).toEqual([status, code]);
    expect(error.data).not.toHaveProperty("stack");
  });
});
