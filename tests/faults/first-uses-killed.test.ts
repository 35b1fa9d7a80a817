import { createHash, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startClients } from "../support/clients.ts";
import { open } from "../support/inspection.ts";
import { createKeyspace, type Keyspace, usesOfIssuedKeys } from "../support/keyspace.ts";
import { connectionTo } from "../support/postmaster.ts";
import { verifyCounts } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes verify keys that were never used, keys in use and expired keys, and each node is killed. The three kinds are counted
// differently (docs/decisions/0079-uses-of-issued-keys.md).

let nodes: TwoNodes;
let keyspace: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes({}, { deadlines: "product" });
  keyspace = await createKeyspace(nodes.left.baseUrl, nodes.account);
});
afterAll(async () => {
  await nodes?.close();
});

const kinds = ["unused", "used", "expired"] as const;
type Kind = (typeof kinds)[number];

interface VerifiedKey {
  readonly kind: Kind;
  readonly secret: string;
  sent: number;
  valid: number;
  /** Results with any other code. */
  readonly others: Set<string>;
}

const clients = 24;
const sides = ["right", "left", "right"] as const;
/** The most unused keys that are verified until a killed node has started again. A fast machine would use up all keys otherwise. */
const unusedPerKill = 300;
const keysPerKind = { unused: (sides.length + 1) * unusedPerKill, used: 20, expired: 20 };

const hashOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

/** Imports keys, and lets those of one kind expire. */
async function addKeys(): Promise<Readonly<Record<Kind, readonly VerifiedKey[]>>> {
  const create = (kind: Kind) =>
    Array.from({ length: keysPerKind[kind] }, (): VerifiedKey => {
      return { kind, secret: `acme_${randomUUID()}`, sent: 0, valid: 0, others: new Set() };
    });
  const keys = { unused: create("unused"), used: create("used"), expired: create("expired") };
  const rows = kinds.flatMap((kind) =>
    keys[kind].map(({ secret }) => JSON.stringify({ hash: hashOf(secret).toString("hex"), name: kind })),
  );
  const file = join(nodes.instance.directory, "keys.ndjson");
  await writeFile(file, rows.join("\n"));
  const { status, stderr } = await nodes.instance.command([
    "import",
    "keys",
    file,
    "--keyspace",
    keyspace.id,
  ]);
  expect(status, stderr).toBe(0);
  const client = await open(await connectionTo(nodes.instance.cluster));
  await client.query("update issued_keys set expires_at = now() where name = 'expired'");
  await client.end();
  return keys;
}

/** Verifies keys in one request. The results are unknown if the request has no successful response. */
async function verify(baseUrl: string, keys: readonly VerifiedKey[]): Promise<void> {
  for (const key of keys) key.sent += 1;
  const verifications = keys.map(({ secret }) => ({ key: secret }));
  try {
    const response = await fetch(`${baseUrl}/open/keys/verify-batch`, {
      method: "POST",
      headers: { Authorization: `Bearer ${keyspace.callerKey}`, "Content-Type": "application/json" },
      body: JSON.stringify({ verifications }),
    });
    const { data } = (await response.json()) as { data?: readonly { readonly code: string }[] }; // As documented.
    data?.forEach(({ code }, index) => {
      const key = keys[index];
      if (code === "VALID" && key) key.valid += 1;
      else key?.others.add(code);
    });
  } catch {
    // The node was killed.
  }
}

test("each node is killed while it counts first uses, later uses and rejections of expired keys, and each count is exact", async () => {
  const keys = await addKeys();
  for (const key of keys.used) await verify(nodes.left.baseUrl, [key]);
  const unused = keys.unused.values();
  const taken = { count: 0, max: unusedPerKill };
  const restarts = { left: Promise.resolve(nodes.left), right: Promise.resolve(nodes.right) };
  const load = startClients(clients, async ({ index, isStopped, onRequestEnd }) => {
    for (let turn = index; !isStopped(); turn += 1) {
      // Half of the requests contain several keys, in opposite orders.
      const first = taken.count < taken.max ? unused.next().value : undefined;
      if (first) taken.count += 1;
      const others = [keys.used[turn % keysPerKind.used], keys.expired[turn % keysPerKind.expired]];
      const batch = [first, ...others].filter((key) => key !== undefined);
      const { baseUrl } = await restarts[index % 2 === 0 ? "left" : "right"];
      if (turn % 4 < 2) for (const key of batch) await verify(baseUrl, [key]);
      else await verify(baseUrl, turn % 2 === 0 ? batch : batch.toReversed());
      // The second use, or the first one if the node was killed before it counted.
      if (first && turn % 3 === 0) await verify(baseUrl, [first]);
      if (first) onRequestEnd();
    }
  });
  for (const side of sides) {
    await load.reached(taken.count + 150);
    expect(taken.count).toBeLessThan(taken.max);
    await (await restarts[side]).stop("SIGKILL");
    restarts[side] = nodes.instance.start({ PORT: new URL(nodes[side].baseUrl).port });
    await restarts[side];
    taken.max += unusedPerKill;
  }
  await load.reached(taken.count + 150);
  await load.stop();

  const client = await open(await connectionTo(nodes.instance.cluster));
  const { rows } = await client.query<{ hash: Buffer; uses: number }>(
    `select hash, uses from (${usesOfIssuedKeys}) counted join issued_keys on id = key_id`,
  );
  await client.end();
  const uses = new Map(rows.map(({ hash, uses }) => [hash.toString("hex"), uses]));
  const sum = { answered: 0, counted: 0, received: 0 };
  for (const kind of kinds)
    for (const { secret, sent, valid, others } of keys[kind]) {
      const counted = uses.get(hashOf(secret).toString("hex")) ?? Number.NaN;
      if (kind === "expired") {
        expect([...others, valid, counted]).toEqual(["EXPIRED", 0, 0]);
        continue;
      }
      expect([...others]).toEqual([]);
      expect(valid).toBeLessThanOrEqual(counted);
      expect(counted).toBeLessThanOrEqual(sent);
      sum.answered += valid;
      sum.counted += counted;
      sum.received += sent;
    }
  verifyCounts("first uses, kill -9 of each node", sum);
  // The nodes were killed while there were requests.
  expect(sum.answered).toBeLessThan(sum.received);
});
