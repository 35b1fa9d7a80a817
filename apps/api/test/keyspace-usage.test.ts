// What verifications are counted as, and the latest rejected ones.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createOpenClient, type OpenReply } from "./open-client.ts";
import { addTeam, join, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);

interface Space {
  readonly team: Team;
  readonly path: string;
  readonly issue: (fields: object) => Promise<{ readonly id: string; readonly secret: string }>;
  readonly verify: (body: object, headers?: Readonly<Record<string, string>>) => Promise<string>;
  /** The groups of the last day by hour, without their times. */
  readonly readUsage: (query: string) => Promise<readonly Group[]>;
}

interface Group {
  readonly value: string;
  readonly name: string | null;
  readonly count: number;
  readonly useCount: number;
  readonly buckets: readonly { readonly startsAt: string; readonly count: number }[];
}

async function addSpace(): Promise<Space> {
  const team = await addTeam(app);
  const { secret } = team.owner;
  const keyspace = { name: "Production", prefix: "sk_live" };
  const { body } = await send(secret, ["POST", `${team.path}/keyspaces`], keyspace);
  const path = `${team.path}/keyspaces/${body.id}`;
  return {
    team,
    path,
    async issue(fields) {
      const { status, body } = await send(secret, ["POST", `${path}/keys`], fields);
      expect(status).toBe(201);
      return { id: String(body.id), secret: String(body.key) };
    },
    async verify(body, headers) {
      const reply = await send(secret, ["POST", "/keys/verify"], body, headers);
      expect(reply.status).toBe(200);
      return String(reply.body.code);
    },
    async readUsage(query) {
      const reply = await send(secret, ["GET", `${path}/usage?${query}&${period()}`]);
      expect(reply.status).toBe(200);
      return toGroups(reply);
    },
  };
}

// Not validated, because the tests check the members.
function toGroups({ body }: OpenReply): readonly Group[] {
  return body.data as unknown as readonly Group[];
}

const hourMs = 3_600_000;

/** The hours from 23 hours ago to the next one. */
function period(bucket: "hour" | "day" = "hour"): string {
  const hour = Math.floor(Date.now() / hourMs) * hourMs;
  const [from, to] = [hour - 23 * hourMs, hour + 2 * hourMs].map((time) => new Date(time).toISOString());
  return `from=${from}&to=${to}&bucket=${bucket}`;
}

function countsOf(groups: readonly Group[]): readonly (readonly [string, number, number])[] {
  return groups.map(({ value, count, useCount }) => [value, count, useCount] as const);
}

test("verifications are grouped by outcome, key, consumer and tag, and a rejected one spends its tags too", async () => {
  const { issue, verify, readUsage } = await addSpace();
  const acme = await issue({ name: "Acme", externalId: "acme" });
  const globex = await issue({ name: "Globex", externalId: "globex", isDisabled: true });
  const loose = await issue({ name: "Loose" });
  for (let count = 0; count < 3; count += 1)
    expect(await verify({ key: acme.secret, tags: ["region:eu", "exports"] })).toBe("VALID");
  expect(await verify({ key: acme.secret, cost: 0, tags: ["region:eu"] })).toBe("VALID");
  for (let count = 0; count < 2; count += 1)
    expect(await verify({ key: globex.secret, tags: ["region:us"] })).toBe("DISABLED");
  expect(await verify({ key: loose.secret })).toBe("VALID");
  // Unknown keys and their tags are not recorded.
  expect(await verify({ key: `${loose.secret}x`, tags: ["unknown"] })).toBe("NOT_FOUND");
  await expect
    .poll(async () => countsOf(await readUsage("groupBy=outcome")))
    .toEqual([
      ["VALID", 4, 4],
      ["DISABLED", 2, 0],
      ["CHECKED", 1, 0],
    ]);
  expect(countsOf(await readUsage("groupBy=key"))).toEqual([
    [acme.id, 4, 3],
    [globex.id, 2, 0],
    [loose.id, 1, 1],
  ]);
  expect((await readUsage("groupBy=key&limit=2")).map(({ name }) => name)).toEqual(["Acme", "Globex"]);
  expect(countsOf(await readUsage("groupBy=externalId"))).toEqual([
    ["acme", 4, 3],
    ["globex", 2, 0],
  ]);
  expect(countsOf(await readUsage("groupBy=tag"))).toEqual([
    ["region:eu", 4, 3],
    ["exports", 3, 3],
    ["region:us", 2, 0],
  ]);
  for (const groupBy of ["outcome", "key", "externalId", "tag"])
    for (const { count, buckets } of await readUsage(`groupBy=${groupBy}`))
      expect(buckets.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(count);
});

test("the outcomes of one key or consumer are counted, and other groups need the whole keyspace", async () => {
  const { team, path, issue, verify, readUsage } = await addSpace();
  const first = await issue({ externalId: "acme" });
  const second = await issue({ externalId: "acme", isDisabled: true });
  const other = await issue({ externalId: "globex" });
  for (const { secret } of [first, first, second, other]) await verify({ key: secret });
  const ofConsumer = async () => countsOf(await readUsage("groupBy=outcome&externalId=acme"));
  await expect.poll(ofConsumer).toEqual([
    ["VALID", 2, 2],
    ["DISABLED", 1, 0],
  ]);
  expect(countsOf(await readUsage(`groupBy=outcome&keyId=${first.id}`))).toEqual([["VALID", 2, 2]]);
  expect(countsOf(await readUsage(`groupBy=outcome&keyId=${second.id}`))).toEqual([["DISABLED", 1, 0]]);
  const get = async (query: string) => {
    const { status, body } = await send(team.owner.secret, ["GET", `${path}/usage?${query}&${period()}`]);
    return [status, (body.error as unknown as { issues?: { path: string }[] }).issues?.[0]?.path];
  };
  expect(await get("groupBy=outcome&externalId=nobody")).toEqual([404, undefined]);
  const stranger = await (await addSpace()).issue({});
  expect(await get(`groupBy=outcome&keyId=${stranger.id}`)).toEqual([404, undefined]);
  expect(await get(`groupBy=key&keyId=${first.id}`)).toEqual([400, "groupBy"]);
  expect(await get(`groupBy=outcome&keyId=${first.id}&externalId=acme`)).toEqual([400, "externalId"]);
});

test("a member who tries a key is counted like a service", async () => {
  const { team, path, issue, readUsage } = await addSpace();
  const acme = await issue({ name: "Acme" });
  const { client } = team.owner;
  const keyspaceId = path.split("/").at(-1) ?? "";
  const verification = { workspaceId: team.id, keyspaceId, key: acme.secret };
  await client.issuedKeys.verify.mutate({ ...verification, cost: 1 });
  await client.issuedKeys.verify.mutate(verification);
  const counts = [
    ["CHECKED", 1, 0],
    ["VALID", 1, 1],
  ];
  await expect.poll(async () => countsOf(await readUsage("groupBy=outcome")).toSorted()).toEqual(counts);
});

test("the verifications of all keys of a consumer are counted together by outcome", async () => {
  const { team, path, issue, verify } = await addSpace();
  const keys = [
    await issue({ externalId: "a/b %2F" }),
    await issue({ externalId: "a/b %2F", isDisabled: true }),
    await issue({ externalId: "globex" }),
  ];
  for (const { secret } of [...keys, ...keys]) await verify({ key: secret });
  const hour = Math.floor(Date.now() / hourMs) * 3_600;
  const read = async (externalId: string) =>
    await team.owner.client.keyspaceUsage.consumerUsage.query({
      workspaceId: team.id,
      keyspaceId: path.split("/").at(-1) ?? "",
      externalId,
      starts: [hour - 3_600],
      to: hour + 7_200,
    });
  await expect
    .poll(async () => (await read("a/b %2F")).map(({ outcome, count }) => [outcome, count]))
    .toEqual([
      ["DISABLED", 2],
      ["VALID", 2],
    ]);
  await expect(read("unknown")).rejects.toMatchObject({ data: { code: "NOT_FOUND" } });
});

test("days are whole days in UTC that begin in the period", async () => {
  const { team, issue, verify, readUsage, path } = await addSpace();
  const { secret } = await issue({});
  await verify({ key: secret });
  await expect.poll(async () => countsOf(await readUsage("groupBy=outcome"))).toEqual([["VALID", 1, 1]]);
  // The day of the verification, which is yesterday if midnight passes now.
  const [outcome] = await readUsage("groupBy=outcome");
  const day = new Date(outcome?.buckets.find(({ count }) => count > 0)?.startsAt ?? Number.NaN);
  day.setUTCHours(0, 0, 0, 0);
  const read = async (from: number, to: number) => {
    const times = [from, to].map((time) => new Date(day.getTime() + time).toISOString());
    const query = `groupBy=key&from=${times[0]}&to=${times[1]}&bucket=day`;
    const reply = await send(team.owner.secret, ["GET", `${path}/usage?${query}`]);
    return toGroups(reply).flatMap(({ buckets }) => buckets);
  };
  expect(await read(-24 * hourMs, hourMs)).toEqual([{ startsAt: day.toISOString(), count: 1 }]);
  expect(await read(1, 24 * hourMs)).toEqual([]);
});

test("a retry with the same Idempotency-Key is a check, and so is a part of a batch with cost 0", async () => {
  const { team, issue, verify, readUsage } = await addSpace();
  const { secret } = await issue({ credits: { remaining: 10, refill: null } });
  const headers = { "Idempotency-Key": "one" };
  for (let count = 0; count < 3; count += 1) await verify({ key: secret, cost: 2 }, headers);
  const verifications = [
    { key: secret, cost: 0, tags: ["a"] },
    { key: secret, tags: ["b"] },
  ];
  await send(team.owner.secret, ["POST", "/keys/verify-batch"], { verifications });
  await expect
    .poll(async () => countsOf(await readUsage("groupBy=outcome")))
    .toEqual([
      ["CHECKED", 3, 0],
      ["VALID", 2, 2],
    ]);
  expect(countsOf(await readUsage("groupBy=tag"))).toEqual([
    ["a", 1, 0],
    ["b", 1, 1],
  ]);
});

describe("rejected verifications", () => {
  test("are listed with code, IP address and request ID, newest first", async () => {
    const { team, path, issue, verify } = await addSpace();
    const key = await issue({ ipRanges: ["192.0.2.0/24"] });
    await verify({ key: key.secret, clientIp: "::ffff:198.51.100.7" }, { "X-Request-Id": "first" });
    await verify({ key: key.secret, clientIp: "192.0.2.1" });
    await verify({ key: key.secret, clientIp: "192.0.2.1", permissions: "admin" });
    await verify({ key: key.secret }, { "X-Request-Id": "last" });
    const viewer = await join(app, team, "viewer");
    const read = async () => {
      const { status, body } = await send(viewer.secret, ["GET", `${path}/keys/${key.id}/rejections`]);
      expect(status).toBe(200);
      return body.data ?? [];
    };
    await expect.poll(async () => (await read()).length).toBe(3);
    const rejections = await read();
    expect(rejections.map(({ code, clientIp }) => [code, clientIp])).toEqual(
      expect.arrayContaining([
        ["FORBIDDEN", null],
        ["INSUFFICIENT_PERMISSIONS", "192.0.2.1"],
        ["FORBIDDEN", "198.51.100.7"],
      ]),
    );
    expect(rejections.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(["first", "last"]));
  });

  test("of a key of another keyspace and of an unknown key are not found", async () => {
    const [one, other] = [await addSpace(), await addSpace()];
    const { id } = await other.issue({});
    const { status } = await send(one.team.owner.secret, ["GET", `${one.path}/keys/${id}/rejections`]);
    expect(status).toBe(404);
  });
});

test("rejects tags and periods that are not allowed", async () => {
  const { team, path, issue } = await addSpace();
  const { secret } = await issue({});
  const caller = team.owner.secret;
  const verifyWith = async (tags: unknown) =>
    (await send(caller, ["POST", "/keys/verify"], { key: secret, tags })).status;
  const numbered = (count: number) => Array.from({ length: count }, (_, place) => `tag-${place}`);
  expect(await verifyWith(numbered(10))).toBe(200);
  for (const tags of [numbered(11), ["a", "a"], ["A"], [""], ["a b"], ["x".repeat(65)], ["é"], "a"])
    expect(await verifyWith(tags)).toBe(400);
  const read = async (query: string) => (await send(caller, ["GET", `${path}/usage?${query}`])).status;
  expect(await read(`${period()}&groupBy=key`)).toBe(200);
  expect(await read(period())).toBe(400);
  expect(await read(`${period()}&groupBy=name`)).toBe(400);
  expect(await read(`${period()}&groupBy=key&limit=101`)).toBe(400);
  const long = "from=2026-03-01T00:00:00Z&to=2026-03-20T00:00:00Z&bucket=hour&groupBy=key";
  expect(await read(`${long}&limit=54`)).toBe(200);
  expect(await read(`${long}&limit=55`)).toBe(400);
  const days = (to: string) => `from=2026-01-01T00:00:00Z&to=${to}T00:00:00Z&bucket=day&groupBy`;
  expect(await read(`${days("2026-04-11")}=tag`)).toBe(200);
  expect(await read(`${days("2026-04-12")}=tag`)).toBe(400);
  expect(await read(`${days("2028-09-27")}=key`)).toBe(200);
});
