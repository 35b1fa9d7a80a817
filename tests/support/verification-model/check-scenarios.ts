import fc from "fast-check";
import { expect } from "vitest";
import { createKey } from "../account.ts";
import { open } from "../inspection.ts";
import { callApi } from "../keyspace.ts";
import { connectionTo } from "../postmaster.ts";
import { installSteppedClock } from "../stepped-clock.ts";
import { startTwoNodes } from "../two-nodes.ts";
import { type CodeCounts, runScenario, type Stage } from "./run-scenario.ts";
import { scenarios } from "./steps.ts";

/** Every code that a verification can have, and 400 for an unknown limit. A key of a scenario has no IP ranges. */
const codes = [
  "BAD_REQUEST",
  "DISABLED",
  "EXPIRED",
  "INSUFFICIENT_PERMISSIONS",
  "NOT_FOUND",
  "RATE_LIMITED",
  "USAGE_EXCEEDED",
  "VALID",
];

/**
 * Runs random scenarios on two nodes with one database, and checks each against the model. Repeats that until `seconds` have
 * passed.
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
  const { key: callerKey } = await createKey(nodes.left.baseUrl, nodes.account, "gateway");
  const caller = { baseUrl: nodes.left.baseUrl, callerKey };
  const { id: workspaceId } = await callApi<{ id: string }>(caller, ["POST", "/workspaces"], {
    name: "Scenarios",
  });
  const clock = await installSteppedClock(nodes.instance.cluster);
  stack.defer(() => clock.close());
  const client = await open(await connectionTo(nodes.instance.cluster));
  stack.defer(() => client.end());
  const stage: Stage = {
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    callerKey,
    workspaceId,
    client,
    clock,
  };
  const until = performance.now() + seconds * 1_000;
  const total: CodeCounts = {};
  let count = 0;
  do {
    await fc.assert(
      fc.asyncProperty(scenarios, async (steps) => {
        for (const [code, times] of Object.entries(await runScenario(stage, steps)))
          total[code] = (total[code] ?? 0) + times;
      }),
      { numRuns: runs, includeErrorInReport: true },
    );
    count += runs;
  } while (performance.now() < until);
  console.info(`${count} random scenarios: ${JSON.stringify(total)}`);
  expect(Object.keys(total).sort()).toEqual(codes);
}
