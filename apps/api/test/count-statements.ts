import type { Db } from "@latchkey/db/schema";
import type { KyselyPlugin } from "kysely";

/** Counts the statements that some work sends to the database. */
export async function countStatements(db: Db, work: (db: Db) => Promise<unknown>): Promise<number> {
  let count = 0;
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => {
      count += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  await work(db.withPlugin(counter));
  return count;
}
