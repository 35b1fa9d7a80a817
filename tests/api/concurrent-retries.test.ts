import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { effort } from "../support/effort.ts";
import { holdLocks, open } from "../support/inspection.ts";
import { callApi, createKeyspace, issueKey, type Keyspace, pathOf } from "../support/keyspace.ts";
import { connectionTo } from "../support/postmaster.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { untilAnswered } from "../support/until-answered.ts";

// The response to a request that issues secrets was lost, and two workers send it again at the same time, each to another node.

let nodes: TwoNodes;
let keyspaces: readonly [left: Keyspace, right: Keyspace];
let database: pg.Client;
beforeAll(async () => {
  nodes = await startTwoNodes();
  const left = await createKeyspace(nodes.left.baseUrl, nodes.account);
  keyspaces = [left, { ...left, baseUrl: nodes.right.baseUrl }];
  database = await open(await connectionTo(nodes.instance.cluster));
});
afterAll(async () => {
  await database?.end();
  await nodes?.close();
});

interface Issued {
  readonly id: string;
  readonly key?: string;
  readonly secretStatus: "issued" | "reissued" | "omitted";
}

interface Reply {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: Issued & {
    readonly rotated?: readonly Issued[];
    readonly code?: string;
    readonly error?: { readonly code: string; readonly message: string };
  };
}

async function post(node: Keyspace, path: string, body: object, name?: string): Promise<Reply> {
  const response = await fetch(`${node.baseUrl}/open${path}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${node.callerKey}`,
      "Content-Type": "application/json",
      ...(name ? { "Idempotency-Key": name } : {}),
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get("Retry-After"),
    body: JSON.parse(text),
  };
}

/** A request that issues secrets. */
interface Request {
  readonly path: string;
  readonly body: object;
  readonly name: string;
  readonly success: number;
}

const send = (node: Keyspace, { path, body, name }: Request) =>
  untilAnswered(() => post(node, `${pathOf(node)}/${path}`, body, name));

/** The keys of a response, each with its secret. */
const issuedIn = ({ body }: Reply): readonly Issued[] => body.rotated ?? [body];

/** How many of the secrets of a response both nodes accept. Spends nothing. */
async function countValid(reply: Reply): Promise<number> {
  let count = 0;
  for (const { key } of issuedIn(reply)) {
    const codes = await Promise.all(
      keyspaces.map(async (node) => {
        const verification = { key: String(key), cost: 0 };
        return (await untilAnswered(() => post(node, "/keys/verify", verification))).body.code;
      }),
    );
    expect(["VALID", "NOT_FOUND"]).toContain(codes[0]);
    expect(codes).toEqual([codes[0], codes[0]]);
    if (codes[0] === "VALID") count += 1;
  }
  return count;
}

const inProgress = {
  status: 409,
  retryAfter: "1",
  body: {
    error: { code: "CONFLICT", message: "A request with this Idempotency-Key is still in progress" },
  },
};

/** Expects that the secrets of exactly one response are valid: of the last one that issued any. The others have no valid secret. */
async function expectOneUsableSet(first: Reply, retries: readonly Reply[], success: number): Promise<void> {
  for (const reply of retries) if (reply.status !== success) expect(reply).toMatchObject(inProgress);
  const answered = retries.filter(({ status }) => status === success);
  expect(answered.length).toBeGreaterThan(0);
  const keyCount = issuedIn(first).length;
  for (const reply of answered) {
    const issued = issuedIn(reply);
    expect(issued.map(({ id }) => id)).toEqual(issuedIn(first).map(({ id }) => id));
    expect(issued.map(({ secretStatus }) => secretStatus)).toEqual(issued.map(() => "reissued"));
  }
  const counts: number[] = [];
  for (const reply of [first, ...answered]) counts.push(await countValid(reply));
  expect(counts[0]).toBe(0);
  expect(counts.toSorted((one, other) => one - other)).toEqual([...answered.map(() => 0), keyCount]);
}

interface StoredKey {
  readonly version: number;
  readonly formerSecrets: readonly object[];
}

const read = (id: string) => callApi<StoredKey>(keyspaces[0], ["GET", `${pathOf(keyspaces[0])}/keys/${id}`]);

describe.each([
  [
    "a rotation of several keys",
    async (externalId: string): Promise<Request> => {
      for (let count = 0; count < 5; count += 1) await issueKey(keyspaces[0], { externalId });
      const body = { externalId, overlapSeconds: 3_600 };
      return { path: "keys/rotate", body, name: externalId, success: 200 };
    },
  ],
  [
    "a creation",
    async (externalId: string): Promise<Request> => ({
      path: "keys",
      body: { name: "key", externalId },
      name: externalId,
      success: 201,
    }),
  ],
])("%s", (what, prepare) => {
  const isRotation = what !== "a creation";

  test("has one usable set of secrets after concurrent retries, and is made once", async () => {
    for (let round = 0; round < 5 * effort; round += 1) {
      const request = await prepare(`${what.replaceAll(" ", "-")}-${round}`);
      const first = await send(keyspaces[0], request);
      expect(first.status).toBe(request.success);
      const retries = await Promise.all(keyspaces.map((node) => send(node, request)));
      await expectOneUsableSet(first, retries, request.success);
      const keys = await Promise.all(issuedIn(first).map(({ id }) => read(id)));
      // Only a rotation leaves a former secret that is still valid.
      expect(keys.map(({ formerSecrets }) => formerSecrets.length)).toEqual(
        keys.map(() => (isRotation ? 1 : 0)),
      );
      expect(new Set(keys.map(({ version }) => version)).size).toBe(1);
      const page = await callApi<{ readonly data: readonly object[] }>(keyspaces[0], [
        "GET",
        `${pathOf(keyspaces[0])}/keys?externalId=${request.name}`,
      ]);
      expect(page.data).toHaveLength(keys.length);
    }
  });

  test("gets 409 with Retry-After while a retry is in progress on the other node", async () => {
    const request = await prepare(`${what.replaceAll(" ", "-")}-in-progress`);
    const first = await send(keyspaces[0], request);
    const { release } = await holdLocks(
      await connectionTo(nodes.instance.cluster),
      "lock table issued_keys in share mode",
    );
    const retried = send(keyspaces[0], request);
    const waiting = `select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query ilike '%issued_keys%'`;
    await expect.poll(async () => (await database.query(waiting)).rows.length).toBeGreaterThan(0);
    const other = await post(
      keyspaces[1],
      `${pathOf(keyspaces[1])}/${request.path}`,
      request.body,
      request.name,
    );
    await release();
    expect(other).toMatchObject(inProgress);
    await expectOneUsableSet(first, [await retried, other], request.success);
    // The node that was rejected then finds out that the other one has the secrets, which have been verified, so that they are kept.
    const last = await send(keyspaces[1], request);
    expect(last.status).toBe(request.success);
    expect(issuedIn(last).map(({ key, secretStatus }) => [key, secretStatus])).toEqual(
      issuedIn(first).map(() => [undefined, "omitted"]),
    );
    expect(await countValid(await retried)).toBe(issuedIn(first).length);
  });
});
