import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeId } from "@latchkey/db/ids";
import { openTestPool } from "@latchkey/db/testing/test-connection";
import fc from "fast-check";
import { expect } from "vitest";
import { expectResult } from "../../cli/expect-result.ts";
import { createKey, signUp } from "../account.ts";
import { type Connection, open } from "../inspection.ts";
import { callApi, pathOf, postUntilAnswered } from "../keyspace.ts";
import { getMembership, openMembershipTable } from "../membership.ts";
import { connectionTo } from "../postmaster.ts";
import { installSteppedClock } from "../stepped-clock.ts";
import { startTwoNodes } from "../two-nodes.ts";
import { permissionsOf } from "./change-key.ts";
import { type CodeCounts, runScenario } from "./run-scenario.ts";
import type { Stage } from "./scenario-keyspaces.ts";
import { scenarios } from "./steps.ts";

/** Every code that a verification can have, 400 for an unknown limit, and 403 for a disabled caller. */
const codes = [
  "400 BAD_REQUEST",
  "403 FORBIDDEN",
  "DISABLED",
  "EXPIRED",
  "FORBIDDEN",
  "INSUFFICIENT_PERMISSIONS",
  "NOT_FOUND",
  "RATE_LIMITED",
  "USAGE_EXCEEDED",
  "VALID",
];

/** About one in four sets of 15 scenarios lacks a code. After the last repetition, about one in a million runs still lacks one. */
const maxRepetitions = 9;

/**
 * Runs random scenarios on two nodes with one database, and checks each against the model. Repeats that until `seconds` have
 * passed and each code was returned.
 * @throws an Error with the seed, the path and the shortest failing scenario. Pass both to `fc.assert` to repeat it.
 */
export async function checkScenarios({
  runs,
  seconds = 0,
}: {
  readonly runs: number;
  readonly seconds?: number;
}): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const nodes = await startTwoNodes();
  stack.defer(() => nodes.close());
  const { baseUrl } = nodes.left;
  const { key: ownerKey } = await createKey(baseUrl, nodes.account, "owner");
  const createWorkspace = async (name: string) => {
    const owner = { baseUrl, callerKey: ownerKey };
    return (await postUntilAnswered<{ id: string }>(owner, "/workspaces", { name })).id;
  };
  const [workspaceId, otherWorkspaceId] = [
    await createWorkspace("Scenarios"),
    await createWorkspace("Other"),
  ];
  const connection = await connectionTo(nodes.instance.cluster);
  const workspaceIds = [workspaceId, otherWorkspaceId];
  const { callerKey, callerId } = await addCaller(baseUrl, { workspaceIds, connection });
  const clock = await installSteppedClock(nodes.instance.cluster);
  stack.defer(() => clock.close());
  const client = await open(connection);
  stack.defer(() => client.end());
  const db = openTestPool(connection, { applicationName: "model" });
  stack.defer(() => db.destroy());
  const stage: Stage = {
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    ownerKey,
    callerKey,
    callerId,
    workspaceId,
    otherWorkspaceId,
    client,
    db,
    clock,
    async importSecret(keyspace, secret) {
      const hash = createHash("sha256").update(secret).digest("hex");
      const file = join(nodes.instance.directory, "scenario.ndjson");
      await writeFile(file, JSON.stringify({ hash, permissions: permissionsOf.documents }));
      expectResult(
        await nodes.instance.command(["--json", "import", "keys", file, "--keyspace", keyspace.id]),
      );
      const { data } = await callApi<{ data: readonly { id: string }[] }>(keyspace, [
        "GET",
        `${pathOf(keyspace)}/keys`,
      ]);
      return data[0]?.id ?? "";
    },
    async disableWorkspace(isDisabled) {
      expectResult(
        await nodes.instance.command(["--json", "workspace", isDisabled ? "disable" : "enable", workspaceId]),
      );
    },
  };
  const until = performance.now() + seconds * 1_000;
  const total: CodeCounts = {};
  let count = 0;
  let repetitions = 0;
  const isMissing = (code: string): boolean => total[code] === undefined;
  do {
    if (performance.now() >= until) repetitions += 1;
    await fc.assert(
      fc.asyncProperty(scenarios, async (steps) => {
        for (const [code, times] of Object.entries(await runScenario(stage, steps)))
          total[code] = (total[code] ?? 0) + times;
      }),
      { numRuns: runs, includeErrorInReport: true },
    );
    count += runs;
  } while (performance.now() < until || (codes.some(isMissing) && repetitions < maxRepetitions));
  console.info(`${count} random scenarios: ${JSON.stringify(total)}`);
  expect(Object.keys(total).sort()).toEqual(codes);
}

/** Adds a member of the workspaces who verifies keys. */
async function addCaller(
  baseUrl: string,
  { workspaceIds, connection }: { readonly workspaceIds: readonly string[]; readonly connection: Connection },
): Promise<Pick<Stage, "callerKey" | "callerId">> {
  const account = await signUp(baseUrl, "gateway@example.com");
  const { key } = await createKey(baseUrl, account, "gateway");
  const { userId } = await getMembership(baseUrl, account);
  const members = await openMembershipTable(connection);
  for (const workspaceId of workspaceIds) await members.write({ userId, workspaceId }, "member");
  await members.close();
  const callerId = decodeId("user", userId);
  if (!callerId) throw new Error(`Not an ID of a user: ${userId}`);
  return { callerKey: key, callerId };
}
