import { readEnv } from "@latchkey/api/env";
import { startNode } from "@latchkey/api/node";
import { patientDeadlines } from "@latchkey/api/testing/patient-deadlines";
import { nodeEnvironment, type Variables } from "./product.ts";

export interface InProcessNode {
  readonly baseUrl: string;
  /** Stops the node. Call it once. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts a node in this process. Test files share the loaded modules, so this takes a fraction of the processor time of
 * a separate process, which `startNode` of `product.ts` starts. Unlike that, it has {@link patientDeadlines}.
 */
export async function startNodeInProcess(variables: Variables): Promise<InProcessNode> {
  await using stack = new AsyncDisposableStack();
  // Its log would be mixed with the results of the tests.
  const env = readEnv({ ...nodeEnvironment, LOG_LEVEL: "fatal", ...variables });
  const { signal } = new AbortController();
  const { baseUrl } = await startNode(env, stack, { signal, deadlines: patientDeadlines });
  const parts = stack.move();
  return { baseUrl, stop: () => parts.disposeAsync() };
}
