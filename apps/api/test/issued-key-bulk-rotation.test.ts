// Rotations of several issued keys in one call.
import { createId, decodeId, encodeId, type IssuedKeyId, type KeyspaceId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { reissueIssuedSecrets, rotateKeys } from "../src/domain/issued-key-rotation.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { countStatements } from "./count-statements.ts";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, readCounter, listEvents, verify } = createIssuedKeyClient(() => app);

interface Rotated {
  readonly id: string;
  readonly key?: string;
  readonly secretStatus: string;
}

async function rotate({ call }: Space, body: object, headers?: Readonly<Record<string, string>>) {
  const reply = await call(["POST", "/rotate"], body, headers);
  return { ...reply, rotated: (reply.body.rotated ?? []) as readonly Rotated[] };
}

async function codesOf(space: Space, secrets: readonly (string | undefined)[]): Promise<unknown[]> {
  const codes: unknown[] = [];
  for (const secret of secrets) codes.push((await verify(space, String(secret))).code);
  return codes;
}

/** Fills a keyspace up to a number of keys, by copies of its first key. Returns their IDs, in order. */
async function fillSpace(space: Space, count: number): Promise<readonly IssuedKeyId[]> {
  const { uuid } = await addKey(space, { name: "Copied" });
  await sql`
    with copied as (
      insert into issued_keys (workspace_id, keyspace_id, id, hash, start, name)
      select workspace_id, keyspace_id, gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), start, name
      from issued_keys, generate_series(2, ${count}::int) where id = ${uuid}
      returning id
    )
    insert into key_counters (key_id) select id from copied`.execute(app.owner);
  const { rows } = await sql<{ id: IssuedKeyId }>`
    select id from issued_keys where workspace_id = ${space.team.scope.workspaceId} order by id`.execute(
    app.owner,
  );
  return rows.map(({ id }) => id);
}

test("all keys of a consumer get new secrets, the old ones stay valid for the overlap, and no other key changes", async () => {
  const space = await addSpace();
  const keys = [
    await addKey(space, { externalId: "acme", name: "One" }),
    await addKey(space, { externalId: "acme", name: "Two", isDisabled: true }),
  ] as const;
  const other = await addKey(space, { externalId: "globex" });
  const secrets = keys.map(({ secret }) => secret);
  expect(await codesOf(space, [...secrets, other.secret])).toEqual(["VALID", "DISABLED", "VALID"]);
  await space.send(["PATCH", ""], { prefix: "sk_v2" });
  const reply = await rotate(space, { externalId: "acme", overlapSeconds: 3_600 });
  const shown = { externalId: "acme", secretStatus: "issued", key: expect.stringMatching(/^sk_v2_.{36}$/) };
  const start = expect.stringMatching(/^sk_v2_.{6}$/);
  expect([reply.status, reply.body]).toEqual([
    200,
    {
      rotated: [
        { ...shown, id: keys[0].id, name: "One", start },
        { ...shown, id: keys[1].id, name: "Two", start },
      ],
      notFound: [],
    },
  ]);
  const current = reply.rotated.map(({ key }) => key);
  expect(await codesOf(space, [...current, ...secrets])).toEqual(["VALID", "DISABLED", "VALID", "DISABLED"]);
  for (const { id, uuid, secret } of keys) {
    const { body } = await space.call(["GET", `/${id}`]);
    expect(body).toMatchObject({ version: 2, formerSecrets: [{ start: secret.slice(0, 14) }] });
    const [former] = body.formerSecrets as { retiredAt: string; goodUntil: string }[];
    expect(Date.parse(former?.goodUntil ?? "") - Date.parse(former?.retiredAt ?? "")).toBe(3_600_000);
    expect(await readCounter(uuid)).toMatchObject({ version: 2 });
  }
  expect((await space.call(["GET", `/${other.id}`])).body.version).toBe(1);
  const event = { action: "issued-key.rotated", before: null };
  expect((await listEvents(space)).slice(3)).toEqual([
    { ...event, after: { name: "One", start, overlapSeconds: 3_600 } },
    { ...event, after: { name: "Two", start, overlapSeconds: 3_600 } },
  ]);
});

test("an overlap of 0 revokes the old secrets, and the default overlap is a day", async () => {
  const space = await addSpace();
  const key = await addKey(space, { externalId: "acme" });
  const { rotated } = await rotate(space, { externalId: "acme", overlapSeconds: 0 });
  expect(await codesOf(space, [key.secret, rotated[0]?.key])).toEqual(["NOT_FOUND", "VALID"]);
  await rotate(space, { keyIds: [key.id] });
  const { body } = await space.call(["GET", `/${key.id}`]);
  const former = body.formerSecrets as { retiredAt: string; goodUntil: string }[];
  expect(former.map(({ retiredAt, goodUntil }) => Date.parse(goodUntil) - Date.parse(retiredAt))).toEqual([
    86_400_000,
  ]);
});

test("of the old secrets of each key, five are valid and 20 are stored", async () => {
  const space = await addSpace();
  const keys = [await addKey(space, { externalId: "acme" }), await addKey(space, { externalId: "acme" })];
  const secrets = keys.map(({ secret }) => [secret]);
  const rotateAll = async (overlapSeconds: number) => {
    const { rotated } = await rotate(space, { externalId: "acme", overlapSeconds });
    for (const [index, { key }] of rotated.entries()) secrets[index]?.push(String(key));
  };
  for (let count = 0; count < 6; count += 1) await rotateAll(60);
  for (const ofKey of secrets)
    expect(await codesOf(space, ofKey)).toEqual(["NOT_FOUND", ...Array.from({ length: 6 }, () => "VALID")]);
  for (let count = 0; count < 20; count += 1) await rotateAll(0);
  const { rows } = await sql`
    select count(*)::int as stored, (count(*) filter (where good_until > clock_timestamp()))::int as valid
    from retired_issued_secrets where key_id = any(${keys.map(({ uuid }) => uuid)}::uuid[])
    group by key_id`.execute(app.owner);
  // The valid ones are not among the newest 20, and stay until their overlap ends.
  expect(rows).toEqual([
    { stored: 25, valid: 5 },
    { stored: 25, valid: 5 },
  ]);
});

test("keys are chosen by their IDs; unknown, foreign and deleted keys are reported, and the others rotated", async () => {
  const space = await addSpace();
  const foreign = [await addKey(await addSpace({}, space.team)), await addKey(await addSpace())] as const;
  const [own, deleted] = [await addKey(space), await addKey(space)];
  await space.call(["DELETE", `/${deleted.id}`]);
  const unknown = encodeId("issuedKey", createId("issuedKey"));
  const missing = [unknown, deleted.id, ...foreign.map(({ id }) => id)];
  const reply = await rotate(space, { keyIds: [...missing, own.id, own.id], overlapSeconds: 60 });
  expect([reply.status, reply.body]).toMatchObject([200, { rotated: [{ id: own.id }], notFound: missing }]);
  expect(reply.rotated).toHaveLength(1);
  expect(await readCounter(foreign[0].uuid)).toMatchObject({ version: 1 });
  const nobody = await rotate(space, { externalId: "nobody" });
  expect([nobody.status, nobody.body]).toEqual([200, { rotated: [], notFound: [] }]);
});

test.each([
  [{}, ""],
  [{ externalId: "acme", keyIds: ["ikey_01h455vb4pex5vsknk084sn02q"] }, ""],
  [{ keyIds: [] }, "keyIds"],
  [{ keyIds: ["ks_01h455vb4pex5vsknk084sn02q"] }, "keyIds.0"],
  [{ externalId: "acme", overlapSeconds: -1 }, "overlapSeconds"],
  [{ externalId: "acme", overlapSeconds: 2_592_001 }, "overlapSeconds"],
  [{ externalId: "acme", action: "rotate" }, "action"],
])("rejects %j", async (body, path) => {
  const { status, body: answer } = await rotate(await addSpace(), body);
  expect([status, answer.error]).toMatchObject([400, { issues: [{ path }] }]);
});

test("the response isn't cached, and no record, event or log has a secret", async () => {
  const space = await addSpace();
  await addKey(space, { externalId: "acme" });
  const url = `${app.baseUrl}/open${space.team.path}/keyspaces/${space.id}/keys/rotate`;
  const send = async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${space.team.owner.secret}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "stored",
      },
      body: JSON.stringify({ externalId: "acme" }),
    });
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    return ((await response.json()) as { rotated: readonly Rotated[] }).rotated[0]?.key ?? "";
  };
  const secrets = [await send(), await send()];
  const { rows } = await sql<{ text: string }>`
    select row_to_json(stored)::text as text from idempotency_records stored where key = 'stored'
    union all select row_to_json(event)::text from audit_events event`.execute(app.owner);
  const stored = rows.map(({ text }) => text).join("\n");
  expect(stored).toContain("issued-key.secret-reissued");
  for (const secret of secrets) {
    expect(secret).toMatch(/^sk_live_/);
    expect(stored + app.readLog()).not.toContain(secret.slice(14));
  }
});

test("a retry replaces the secrets that were never used, and says so for each key", async () => {
  const space = await addSpace();
  const add = () => addKey(space, { externalId: "acme" });
  const [unused, oldUsed, used, rotated, deleted] = [
    await add(),
    await add(),
    await add(),
    await add(),
    await add(),
  ];
  const body = { externalId: "acme", overlapSeconds: 3_600 };
  const send = () => rotate(space, body, { "Idempotency-Key": "lost" });
  const first = await send();
  const [firstUnused, firstOldUsed, firstUsed] = first.rotated.map(({ key }) => key);
  expect(await codesOf(space, [oldUsed.secret, firstUsed])).toEqual(["VALID", "VALID"]);
  await space.call(["POST", `/${rotated.id}/rotate`], {});
  await space.call(["DELETE", `/${deleted.id}`]);
  const second = await send();
  expect(second).toMatchObject({ status: 200, replayed: "true" });
  const statuses = ["reissued", "reissued", "omitted", "omitted", "omitted"];
  expect(second.rotated.map(({ id, secretStatus }) => [id, secretStatus])).toEqual(
    [unused, oldUsed, used, rotated, deleted].map(({ id }, index) => [id, statuses[index]]),
  );
  expect(second.rotated.map(({ key }) => typeof key)).toEqual([
    ...["string", "string", "undefined", "undefined", "undefined"],
  ]);
  expect(await codesOf(space, [firstUnused, firstOldUsed, firstUsed])).toEqual([
    ...["NOT_FOUND", "NOT_FOUND", "VALID"],
  ]);
  // The overlap of the old secrets doesn't change.
  expect(await codesOf(space, [unused.secret, oldUsed.secret])).toEqual(["VALID", "VALID"]);
  expect((await space.call(["GET", `/${unused.id}`])).body.version).toBe(3);
  expect(await codesOf(space, [second.rotated[0]?.key])).toEqual(["VALID"]);
  const third = await send();
  expect(third.rotated.map(({ secretStatus }) => secretStatus)).toEqual([
    ...["omitted", "reissued", "omitted", "omitted", "omitted"],
  ]);
  expect(await codesOf(space, [second.rotated[1]?.key, third.rotated[1]?.key])).toEqual([
    ...["NOT_FOUND", "VALID"],
  ]);
  const events = (await listEvents(space)).map(({ action }) => action);
  expect(events.filter((action) => action === "issued-key.rotated")).toHaveLength(6);
  expect(events.filter((action) => action === "issued-key.secret-reissued")).toHaveLength(3);
  const changed = await rotate(space, { ...body, overlapSeconds: 60 }, { "Idempotency-Key": "lost" });
  expect(changed.status).toBe(422);
});

test("a secret that is used while a retry replaces the others is kept, without an event", async () => {
  const space = await addSpace();
  const keys = [await addKey(space, { externalId: "acme" }), await addKey(space, { externalId: "acme" })];
  const send = () => rotate(space, { externalId: "acme" }, { "Idempotency-Key": "race" });
  const first = await send();
  const usedId = keys[1]?.uuid;
  let retried: ReturnType<typeof send> | undefined;
  await app.owner.transaction().execute(async (trx) => {
    // Changes the counter as a verification with the new secret does.
    await sql`
      update key_counters set use_count = 1, has_unused_secret = false where key_id = ${usedId}`.execute(trx);
    retried = send();
    await expect.poll(() => countWaiting(app.owner), { interval: 5 }).toBe(1);
  });
  const second = await retried;
  expect(second?.rotated.map(({ secretStatus }) => secretStatus)).toEqual(["reissued", "omitted"]);
  expect(await codesOf(space, [first.rotated[1]?.key, second?.rotated[0]?.key])).toEqual(["VALID", "VALID"]);
  const events = (await listEvents(space)).map(({ action }) => action);
  expect(events.filter((action) => action === "issued-key.secret-reissued")).toHaveLength(1);
});

test("1,000 keys are rotated, and their secrets reissued, with as many statements as one key", async () => {
  const counts: number[][] = [];
  for (const keyCount of [1, 1_000]) {
    const space = await addSpace();
    const ids = await fillSpace(space, keyCount);
    const { scope, owner } = space.team;
    const keyspaceId = decodeId("keyspace", space.id) as KeyspaceId; // The API has just created it.
    const actor = { kind: "session", userId: owner.userId, isRecentlyAuthenticated: true } as const;
    const edit = { scope, origin: { ...commandOrigin, actor } };
    const inOneTransaction = <Result>(work: (trx: Parameters<typeof rotateKeys>[0]) => Promise<Result>) =>
      countStatements(app.services.db, (db) => db.transaction().execute(work));
    const rotating = await inOneTransaction((trx) =>
      rotateKeys(trx, edit, { keyspaceId, chosen: { ids }, overlapSeconds: 60, quotas: defaultQuotas }),
    );
    const { rows: current } = await sql<{ id: IssuedKeyId; issuedHash: Buffer }>`
      select id, hash as "issuedHash" from issued_keys where id = any(${ids}::uuid[])`.execute(app.owner);
    const reissuing = await inOneTransaction((trx) =>
      reissueIssuedSecrets(trx, edit, { keyspaceId, issued: current, quotas: defaultQuotas }),
    );
    counts.push([rotating, reissuing]);
    const { rows } = await sql`
      select
        (select count(*) from key_counters where version = 3 and has_unused_secret and key_id = any(ids))::int as counters,
        (select count(*) from issued_keys where version = 3 and id = any(ids))::int as keys,
        (select count(distinct key_id) from retired_issued_secrets where key_id = any(ids)
          and good_until > clock_timestamp())::int as overlaps,
        (select count(distinct target_id) from audit_events where target_id = any(ids)
          and action = 'issued-key.rotated')::int as rotations
      from (select ${ids}::uuid[] as ids)`.execute(app.owner);
    expect(rows).toEqual([{ counters: keyCount, keys: keyCount, overlaps: keyCount, rotations: keyCount }]);
  }
  const [one, thousand] = counts;
  expect(thousand).toEqual(one);
  expect(Math.max(...(one ?? []))).toBeLessThan(30);
});

test("one call rotates 1,000 keys, a retry reissues all secrets, and no two secrets are the same", async () => {
  const space = await addSpace();
  const keyIds = (await fillSpace(space, 1_000)).map((id) => encodeId("issuedKey", id));
  const headers = { "Idempotency-Key": "thousand" };
  const send = () => rotate(space, { keyIds }, headers);
  const replies = [await send(), await send()];
  const secrets = new Set<string>();
  for (const { status, body } of replies) {
    const rotated = body.rotated as unknown as readonly Rotated[];
    expect([status, rotated.map(({ id }) => id)]).toEqual([200, keyIds]);
    for (const { key } of rotated) secrets.add(String(key));
  }
  expect(secrets.size).toBe(2_000);
  const tooMany = await rotate(space, { keyIds: [...keyIds, keyIds[0]] });
  expect([tooMany.status, tooMany.body.error]).toMatchObject([400, { issues: [{ path: "keyIds" }] }]);
});
