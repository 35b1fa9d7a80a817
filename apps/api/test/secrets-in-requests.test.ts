import { deleteApiKey } from "@latchkey/db/api-key-changes";
import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// Keys in the wrong part of a request, and inputs that a response or table can't contain.

let app: TestApp;
let key: Awaited<ReturnType<TestApp["addKey"]>>;
beforeAll(async () => {
  app = await startTestApp();
  key = await app.addKey();
});
afterAll(() => app.close());

const json = { "Content-Type": "application/json" };
const encode = (text: string) => text.replace(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`);

/** Returns all rows of all tables as JSON. */
async function readDatabase(): Promise<string> {
  const tables = await app.owner.introspection.getTables();
  const rows = await Promise.all(
    tables.map(({ schema, name }) =>
      app.owner
        .withTables<Record<string, Record<string, unknown>>>()
        .selectFrom(`${schema}.${name}`)
        .selectAll()
        .execute(),
    ),
  );
  return JSON.stringify(rows);
}

async function createWorkspace(headers: Record<string, string>) {
  const response = await fetch(`${app.baseUrl}/open/workspaces`, {
    method: "POST",
    headers: { ...json, Authorization: `Bearer ${key.secret}`, ...headers },
    body: JSON.stringify({ name: "Payments" }),
  });
  const body = (await response.json()) as { id: string };
  return { id: body.id, status: response.status, headers: response.headers };
}

test("an Idempotency-Key that contains an API key works, and the API key isn't stored", async () => {
  const { secret: other } = await app.addKey();
  const first = await createWorkspace({ "Idempotency-Key": `from-${key.secret}` });
  const again = await createWorkspace({ "Idempotency-Key": `from-${key.secret}` });
  expect([again.id, again.headers.get("idempotent-replayed")]).toEqual([first.id, "true"]);
  // A value that differs only in the API key is a different Idempotency-Key.
  const second = await createWorkspace({ "Idempotency-Key": `from-${other}` });
  expect([second.id === first.id, second.headers.get("idempotent-replayed")]).toEqual([false, null]);
  const stored = await readDatabase();
  for (const secret of [key.secret, other]) expect(stored).not.toContain(secret.slice(12));
});

describe("an issued key", () => {
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await fetch(`${app.baseUrl}/open${path}`, {
      method: "POST",
      headers: { ...json, Authorization: `Bearer ${key.secret}`, ...headers },
      body: JSON.stringify(body),
    });
    return { response, body: (await response.json()) as Record<string, unknown> };
  };

  async function issue() {
    const keyspaces = `/workspaces/${(await createWorkspace({})).id}/keyspaces`;
    const { id } = (await post(keyspaces, { name: "Production", prefix: "acme" })).body;
    const keys = `${keyspaces}/${id}/keys`;
    return { keys, secret: String((await post(keys, { name: "CI" })).body.key) };
  }

  test("isn't stored from a request ID or an Idempotency-Key", async () => {
    const { keys, secret } = await issue();
    const headers = { "X-Request-Id": secret, "Idempotency-Key": secret };
    const { response, body } = await post(keys, { name: "other" }, headers);
    expect([response.status, response.headers.get("x-request-id")]).toEqual([
      201,
      expect.not.stringContaining("acme"),
    ]);
    const again = await post(keys, { name: "other" }, headers);
    expect(again.body.id).toBe(body.id);
    expect(await readDatabase()).not.toContain(secret.slice(12));
  });

  test.each(["name", "externalId", "meta"])("is rejected in the field %s of another key", async (field) => {
    const { keys, secret } = await issue();
    for (const text of [secret, `for ${secret}.`]) {
      const { response, body } = await post(keys, { [field]: field === "meta" ? { plan: text } : text });
      expect([response.status, body.error]).toMatchObject([
        400,
        {
          issues: [{ path: field, message: "Remove the key. Other people can read this text." }],
        },
      ]);
    }
    expect(await readDatabase()).not.toContain(secret.slice(12));
  });
});

test("no table contains a secret that a creation, a rotation or its retry issued", async () => {
  const { id, secret } = await app.addKey();
  const rotate = async (): Promise<{ key: string }> => {
    const response = await fetch(`${app.baseUrl}/open/api-keys/${encodeId("key", id)}/rotate`, {
      method: "POST",
      headers: { ...json, Authorization: `Bearer ${secret}`, "Idempotency-Key": "rotate" },
      body: "{}",
    });
    return (await response.json()) as { key: string };
  };
  const secrets = [secret, (await rotate()).key, (await rotate()).key];
  expect(new Set(secrets).size).toBe(3);
  const stored = await readDatabase();
  expect(stored).toContain("key.secret-reissued");
  for (const issued of secrets) {
    expect(issued).toMatch(/^lk_\w{36}$/);
    expect(stored).not.toContain(issued.slice(12));
  }
});

test("a request ID that contains a key is replaced in the response and in the audit log", async () => {
  const { headers } = await createWorkspace({ "X-Request-Id": `id-${key.secret}` });
  expect(headers.get("x-request-id")).not.toContain("lk_");
  expect(await readDatabase()).not.toContain(key.secret.slice(12));
});

test("the User-Agent of a session is stored without keys", async () => {
  const { email } = await app.addUser();
  await fetch(`${app.baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: { ...json, "User-Agent": `curl ${key.secret} ${encode(key.secret)}` },
    body: JSON.stringify({ email, password }),
  });
  const stored = await readDatabase();
  expect(stored).toContain("curl lk_… lk_…");
  expect(stored).not.toContain(key.secret.slice(12));
});

test("the history of a key contains no keys from paths, in any encoding", async () => {
  const { secret } = await app.addKey();
  const rejected = await app.addKey();
  await app.services.db.transaction().execute((trx) => deleteApiKey(trx, rejected));
  for (const segment of [
    secret,
    secret.replace("_", "%5F"),
    encode(secret),
    encode(secret).replaceAll("%", "%25"),
  ]) {
    const headers = { Authorization: `Bearer ${rejected.secret}` };
    expect((await fetch(`${app.baseUrl}/open/api-keys/${segment}`, { headers })).status).toBe(403);
  }
  const readPaths = async () => {
    const rows = await app.owner
      .selectFrom("key_refusals")
      .select("path")
      .where("key_id", "=", rejected.id)
      .execute();
    return rows.map(({ path }) => path);
  };
  await expect.poll(readPaths).toEqual(Array.from({ length: 4 }, () => "/open/api-keys/lk_…"));
});

test.each([
  ["PATCH /api-keys/:id", "name"],
  ["PATCH /api-keys/:id", "description"],
  ["POST /workspaces", "name"],
  ["POST /workspaces", "description"],
  ["PATCH /workspaces/:workspace", "name"],
  ["PATCH /workspaces/:workspace", "description"],
  ["POST /workspaces/:workspace/invitations", "email"],
])("%s rejects an API key in the %s", async (request, member) => {
  const workspace = request.includes(":workspace") ? (await createWorkspace({})).id : "";
  const [method = "", path = ""] = request
    .replace(":workspace", workspace)
    .replace(":id", encodeId("key", key.id))
    .split(" ");
  const texts =
    member === "email"
      ? [`${key.secret}@example.com`]
      : [key.secret, `use ${key.secret}.`, key.secret.replace("_", "%5F")];
  const rest = path.endsWith("/invitations") ? { role: "viewer" } : method === "POST" ? { name: "CI" } : {};
  for (const text of texts) {
    const response = await fetch(`${app.baseUrl}/open${path}`, {
      method,
      headers: { ...json, Authorization: `Bearer ${key.secret}` },
      body: JSON.stringify({ ...rest, [member]: text }),
    });
    const { error } = (await response.json()) as { error: { issues: unknown } };
    expect([response.status, error.issues]).toEqual([
      400,
      [
        {
          path: member,
          code: "invalid_value",
          message: "Remove the key. Other people can read this text.",
        },
      ],
    ]);
  }
  const stored = await readDatabase();
  for (const text of [key.secret, key.secret.toLowerCase()]) expect(stored).not.toContain(text.slice(12));
});

test("no procedure accepts an API key in a name, a description or an email address", async () => {
  const { userId, email } = await app.addUser();
  const { id, secret } = await app.addKey(userId);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const workspace = await client.workspaces.create.mutate({ name: "Parcels" });
  const [name, description] = [`CI ${secret}`, `Use ${secret}.`];
  const [keyId, workspaceId] = [encodeId("key", id), workspace.id];
  const calls = [
    client.apiKeys.create.mutate({ name }),
    client.apiKeys.create.mutate({ name: "CI", description }),
    client.apiKeys.update.mutate({ id: keyId, name }),
    client.apiKeys.update.mutate({ id: keyId, description }),
    client.workspaces.create.mutate({ name }),
    client.workspaces.create.mutate({ name: "CI", description }),
    client.workspaces.update.mutate({ workspaceId, version: workspace.version, name }),
    client.workspaces.update.mutate({ workspaceId, version: workspace.version, description }),
    client.invitations.create.mutate({ workspaceId, email: `${secret}@example.com`, role: "viewer" }),
  ];
  for (const call of calls) await expect(call).rejects.toMatchObject({ data: { code: "BAD_REQUEST" } });
  const stored = await readDatabase();
  for (const text of [secret, secret.toLowerCase()]) expect(stored).not.toContain(text.slice(12));
});

describe("U+0000 in the input of a procedure", () => {
  test.each([
    ["session.signIn", { email: "ada@example.com", password: "nul\0" }],
    ["session.signIn", { email: "ada\0@example.com", password }],
    ["session.signUp", { name: "Ada", email: "ada@example.com", password: `${password}\0` }],
    ["session.signIn", { email: "ada@example.com", password, "\0": [{ deep: 1 }] }],
  ])("%s with %o is rejected", async (path, input) => {
    const response = await fetch(`${app.baseUrl}/trpc/${path}`, {
      method: "POST",
      headers: json,
      body: JSON.stringify(input),
    });
    const body = (await response.json()) as { error: { data: { code: string } } };
    expect([response.status, body.error.data.code]).toEqual([400, "BAD_REQUEST"]);
  });

  test("keyHistory.explainRequest, which accepts any text, rejects it", async () => {
    const { userId } = await app.addUser();
    const { cookies } = await app.services.sessions.open(userId, { headers: new Headers(), address: null });
    const input = encodeURIComponent(JSON.stringify({ requestId: "nul\0" }));
    const response = await fetch(`${app.baseUrl}/trpc/keyHistory.explainRequest?input=${input}`, {
      headers: { Cookie: cookies[0]?.split(";")[0] ?? "" },
    });
    expect(response.status).toBe(400);
  });
});

describe("a request with 100 unknown fields", () => {
  const unknown = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`member${index}`, 1]));

  test("gets 20 issues on /open", async () => {
    const response = await fetch(`${app.baseUrl}/open/workspaces`, {
      method: "POST",
      headers: { ...json, Authorization: `Bearer ${key.secret}` },
      body: JSON.stringify({ name: "Payments", ...unknown }),
    });
    const { error } = (await response.json()) as { error: { issues: unknown[]; omittedIssues: number } };
    expect([response.status, error.issues.length, error.omittedIssues]).toEqual([400, 20, 80]);
  });

  test("gets 20 issues on /trpc", async () => {
    const response = await fetch(`${app.baseUrl}/trpc/session.signIn`, {
      method: "POST",
      headers: json,
      body: JSON.stringify({ email: "ada@example.com", password, ...unknown }),
    });
    const { error } = (await response.json()) as {
      error: { data: { issues: unknown[]; omittedIssues: number } };
    };
    expect([response.status, error.data.issues.length, error.data.omittedIssues]).toEqual([400, 20, 80]);
  });
});

test("a request with 11,000 unknown fields is rejected without an issue for each, on /open and on /trpc", async () => {
  const unknown = Object.fromEntries(Array.from({ length: 11_000 }, (_, index) => [index.toString(36), 1]));
  const message = "An object in the body has more than 1,000 fields";
  const open = await fetch(`${app.baseUrl}/open/workspaces`, {
    method: "POST",
    headers: { ...json, Authorization: `Bearer ${key.secret}` },
    body: JSON.stringify({ name: "Payments", ...unknown }),
  });
  const { error } = (await open.json()) as { error: { message: string } };
  expect([open.status, error.message]).toEqual([400, message]);
  for (const name of ["issues", "omittedIssues"]) expect(error).not.toHaveProperty(name);
  const trpc = await fetch(`${app.baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: json,
    body: JSON.stringify({ email: "ada@example.com", password, ...unknown }),
  });
  const failure = (await trpc.json()) as { error: { message: string; data: object } };
  expect([trpc.status, failure.error.message]).toEqual([400, message]);
  expect(Object.keys(failure.error.data).sort()).toEqual(["code", "httpStatus", "requestId"]);
});
