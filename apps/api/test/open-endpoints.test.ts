import { insertWorkspace } from "@latchkey/db/workspaces";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpoints } from "../src/open/endpoints.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** The members of all responses that the tests read. Not validated, because the tests check them. */
interface Body {
  readonly data: readonly { readonly name: string }[];
  readonly hasMore: boolean;
  readonly nextCursor: string | null;
  readonly documentationUrl: string;
  readonly openapiUrl: string;
  readonly serverTime: string;
}

interface Document {
  readonly openapi: string;
  readonly servers: readonly unknown[];
  readonly paths: Readonly<Record<string, { readonly get: { readonly responses: object } }>>;
}

async function get(path: string, secret: string) {
  const response = await fetch(path.startsWith("http") ? path : app.baseUrl + path, {
    headers: { Authorization: `Bearer ${secret}` },
  });
  return {
    status: response.status,
    link: response.headers.get("link"),
    body: (await response.json()) as Body,
  };
}

test("the configuration describes the instance and has its current time", async () => {
  const { secret } = await app.addKey();
  const before = Date.now();
  const { body } = await get("/open/global/config", secret);
  expect(body).toEqual({
    name: "Latchkey",
    version: "0.0.0",
    baseUrl: app.baseUrl,
    registration: "open",
    authProviders: ["password", "passkey"],
    documentationUrl: `${app.baseUrl}/docs`,
    openapiUrl: `${app.baseUrl}/openapi.json`,
    serverTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect(Date.parse(body.serverTime)).toBeGreaterThanOrEqual(before);
  const nextMs = Date.now() + 1;
  await expect.poll(() => Date.now()).toBeGreaterThanOrEqual(nextMs);
  const second = await get("/open/global/config", secret);
  expect(Date.parse(second.body.serverTime)).toBeGreaterThanOrEqual(nextMs);
  for (const url of [body.documentationUrl, body.openapiUrl]) expect((await fetch(url)).status).toBe(200);
});

test("/me returns the key, its user and the user's workspaces", async () => {
  const { userId, email } = await app.addUser();
  const { secret } = await app.addKey(userId);
  await get("/open/global/config", secret);
  const { body } = await get("/open/me", secret);
  expect(body).toEqual({
    key: {
      id: expect.stringMatching(/^key_/),
      name: "key",
      createdAt: expect.stringMatching(/Z$/),
      lastUsedAt: expect.stringMatching(/Z$/),
      usageCount: 2,
    },
    user: { id: expect.stringMatching(/^usr_/), name: "Ada", kind: "person", email },
    workspaces: [
      {
        id: expect.stringMatching(/^ws_/),
        name: "Ada’s workspace",
        description: "",
        requiresSecondFactor: false,
        auditRetentionDays: null,
        isDisabled: false,
        slug: expect.stringMatching(/^adas-workspace/),
        role: "owner",
        createdAt: expect.stringMatching(/Z$/),
        version: 1,
      },
    ],
  });
});

test("pages of workspaces contain each workspace of the user once, and no others", async () => {
  const { userId, secret } = await app.addKey();
  await app.addUser();
  for (let count = 1; count <= 6; count += 1) {
    await app.services.db
      .transaction()
      .execute((trx) =>
        insertWorkspace(trx, { name: `More ${count}`, slug: `more-${count}`, ownerId: userId }),
      );
  }
  const seen: string[] = [];
  let next: string | null = "/open/workspaces?limit=3";
  for (let page = 1; next && page <= 5; page += 1) {
    const { status, body, link }: Awaited<ReturnType<typeof get>> = await get(next, secret);
    expect(status).toBe(200);
    seen.push(...body.data.map((workspace) => workspace.name));
    expect(body.hasMore).toBe(body.nextCursor !== null);
    next = link ? (/^<(.+)>; rel="next"$/.exec(link)?.[1] ?? null) : null;
    expect(next !== null).toBe(body.hasMore);
  }
  expect(seen).toHaveLength(7);
  expect(new Set(seen)).toEqual(
    new Set(["Ada’s workspace", ...[1, 2, 3, 4, 5, 6].map((count) => `More ${count}`)]),
  );
});

test.each([
  "limit=0",
  "limit=101",
  "limit=ten",
  "limit=1.5",
  "cursor=nonsense",
  "cursor=",
  "sort=size",
  "limit=1&limit=2",
])("a list with the query %s is rejected", async (query) => {
  const { secret } = await app.addKey();
  expect(await get(`/open/workspaces?${query}`, secret)).toMatchObject({
    status: 400,
    body: { error: { code: "BAD_REQUEST" } },
  });
});

test("the OpenAPI document matches the snapshot", async () => {
  const document = await (await fetch(`${app.baseUrl}/openapi.json`)).text();
  const stable = JSON.stringify(
    JSON.parse(document.replaceAll(app.baseUrl, "https://keys.example.com")),
    null,
    2,
  );
  await expect(`${stable}\n`).toMatchFileSnapshot("openapi.snapshot.json");
});

test("the OpenAPI document describes every endpoint with its errors", async () => {
  const document = (await (await fetch(`${app.baseUrl}/openapi.json`)).json()) as Document;
  expect(document.openapi).toMatch(/^3\.1\./);
  const paths = endpoints.map(({ path }) => path.replace(/:(\w+)/g, "{$1}"));
  expect(new Set(Object.keys(document.paths))).toEqual(new Set(paths));
  expect(document.servers).toEqual([{ url: `${app.baseUrl}/open` }]);
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(["401", "403", "500", "503"]));
    expect(Object.keys(operation.responses).filter((status) => status.startsWith("2"))).toHaveLength(1);
  }
});
