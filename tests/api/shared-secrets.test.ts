import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectResult } from "../cli/expect-result.ts";
import {
  createKeyspace,
  type IssuedKey,
  issueKey,
  type Keyspace,
  pathOf,
  postUntilAnswered,
} from "../support/keyspace.ts";
import { installSteppedClock, type SteppedClock } from "../support/stepped-clock.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two workspaces store the same secret, one of them rotates its key, and a caller that reaches both verifies the secret on two nodes.

let nodes: TwoNodes;
let clock: SteppedClock;
let older: Keyspace;
let newer: Keyspace;
beforeAll(async () => {
  nodes = await startTwoNodes();
  older = await createKeyspace(nodes.left.baseUrl, nodes.account);
  newer = await createKeyspace(nodes.right.baseUrl, nodes.account);
  clock = await installSteppedClock(nodes.instance.cluster);
});
afterAll(async () => {
  await clock?.close();
  await nodes?.close();
});

/** Stores the secret of a key in the newer workspace too. */
async function importSecret({ id, key }: IssuedKey): Promise<void> {
  const file = join(nodes.instance.directory, `${id}.ndjson`);
  await writeFile(file, JSON.stringify({ hash: createHash("sha256").update(key).digest("hex") }));
  expectResult(await nodes.instance.command(["--json", "import", "keys", file, "--keyspace", newer.id]));
}

/** Verifies a secret twice on each node. Returns the workspace of the key, or the code, if each result is the same. */
async function verify(key: string, place: object = {}): Promise<unknown> {
  const results = new Set<unknown>();
  for (const { baseUrl } of [nodes.left, nodes.right, nodes.left, nodes.right]) {
    const caller = { baseUrl, callerKey: older.callerKey };
    const { code, workspaceId } = await postUntilAnswered<Record<"code" | "workspaceId", string | null>>(
      caller,
      "/keys/verify",
      { key, ...place },
    );
    results.add(code === "VALID" ? workspaceId : code);
  }
  return results.size === 1 ? [...results][0] : [...results];
}

/** Verifies a secret with the command, in the older workspace. */
async function verifyWithCommand(key: string): Promise<unknown> {
  const command = ["--json", "verify", "--key-stdin", "--workspace", older.workspaceId];
  return expectResult(await nodes.instance.command(command, `${key}\n`)).code;
}

test.each([
  ["without an overlap", 0],
  ["with an overlap of an hour", 3_600],
])(
  "a key that is rotated %s hides no key of another workspace with the same secret",
  async (_how, overlapSeconds) => {
    const issued = await issueKey(older);
    const { key } = issued;
    await importSecret(issued);
    expect(await verify(key)).toBe(older.workspaceId);
    const rotated = await postUntilAnswered<IssuedKey>(older, `${pathOf(older)}/keys/${issued.id}/rotate`, {
      overlapSeconds,
    });
    if (overlapSeconds > 0) {
      expect(await verify(key)).toBe(older.workspaceId);
      expect(await verifyWithCommand(key)).toBe("VALID");
      await clock.step(61);
    }
    expect(await verify(key)).toBe(newer.workspaceId);
    expect(await verify(key, { workspaceId: newer.workspaceId })).toBe(newer.workspaceId);
    for (const place of [{ workspaceId: older.workspaceId }, { keyspaceId: older.id }])
      expect(await verify(key, place)).toBe("NOT_FOUND");
    expect(await verifyWithCommand(key)).toBe("NOT_FOUND");
    expect(await verify(rotated.key)).toBe(older.workspaceId);
  },
);
