import { CompiledQuery, createQueryId, type RootOperationNode, sql } from "kysely";
import type { WorkspaceTrx } from "./workspace-scope.ts";

/**
 * The plans of all statements that a function runs.
 * @param options.avoidsScans whether sequential scans are avoided, because the tables of tests are small; true by default.
 */
export async function explainAll(
  trx: WorkspaceTrx,
  run: (trx: WorkspaceTrx) => Promise<unknown>,
  { avoidsScans = true }: { readonly avoidsScans?: boolean } = {},
): Promise<string> {
  if (avoidsScans) await sql`set local enable_seqscan = off`.execute(trx);
  const nodes: RootOperationNode[] = [];
  const recording = trx.withPlugin({
    transformQuery: ({ node }) => {
      nodes.push(node);
      return node;
    },
    transformResult: async ({ result }) => result,
  }) as WorkspaceTrx; // The same transaction.
  await run(recording);
  const plans: string[] = [];
  for (const node of nodes) {
    const { sql: text, parameters } = trx.getExecutor().compileQuery(node, createQueryId());
    const { rows } = await trx.executeQuery<{ "QUERY PLAN": string }>(
      CompiledQuery.raw(`explain ${text}`, [...parameters]),
    );
    plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
  }
  return plans.join("\n");
}
