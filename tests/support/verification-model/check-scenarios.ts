import { openDatabase } from "@latchkey/db/connection";
import { decodeId } from "@latchkey/db/ids";
import fc from "fast-check";
import { expect } from "vitest";
import { expectResult } from "../../cli/expect-result.ts";
import { createKey, signUp } from "../account.ts";
import { type Connection, open } from "../inspection.ts";
import { callApi } from "../keyspace.ts";
import { getMembership, openMembershipTable } from "../membership.ts";
import { connectionTo } from "../postmaster.ts";
import { installSteppedClock } from "../stepped-clock.ts";
import { startTwoNodes } from "../two-nodes.ts";
import { type CodeCounts, runScenario, type Stage } from "./run-scenario.ts";
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

/** How often the scenarios are repeated until each code was returned. Each is returned several times in most runs. */
const maxRepetitions = 4;

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
  const { id: workspaceId } = await callApi<{ id: string }>(
    { baseUrl, callerKey: ownerKey },
    ["POST", "/workspaces"],
    { name: "Scenarios" },
  );
  const connection = await connectionTo(nodes.instance.cluster);
  const { callerKey, callerId } = await addCaller(baseUrl, { workspaceId, connection });
  const clock = await installSteppedClock(nodes.instance.cluster);
  stack.defer(() => clock.close());
  const client = await open(connection);
  stack.defer(() => client.end());
  const db = openDatabase(connection, { applicationName: "model" });
  stack.defer(() => db.destroy());
  const stage: Stage = {
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    ownerKey,
    callerKey,
    callerId,
    workspaceId,
    client,
    db,
    clock,
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

/** Adds a member who verifies keys. */
async function addCaller(
  baseUrl: string,
  { workspaceId, connection }: { readonly workspaceId: string; readonly connection: Connection },
): Promise<Pick<Stage, "callerKey" | "callerId">> {
  const account = await signUp(baseUrl, "gateway@example.com");
  const { key } = await createKey(baseUrl, account, "gateway");
  const { userId } = await getMembership(baseUrl, account);
  const members = await openMembershipTable(connection);
  await members.write({ userId, workspaceId }, "member");
  await members.close();
  const callerId = decodeId("user", userId);
  if (!callerId) throw new Error(`Not an ID of a user: ${userId}`);
  return { callerKey: key, callerId };
}
