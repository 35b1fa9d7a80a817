import { openDatabase } from "@latchkey/db/connection";
import type { Db } from "@latchkey/db/schema";
import type { Command } from "commander";
import { type Ground, openGround } from "../boot.ts";
import type { Quotas } from "../domain/quotas.ts";
import type { Env } from "../env.ts";
import { print, type Result } from "./print.ts";

/** What a command does with the database, which is up to date. The quotas are those of its own environment. */
export type Task = (db: Db, ground: Ground, quotas: Quotas) => Result | Promise<Result>;

/** Opens the database, performs the task, prints its result and leaves. */
export type Perform = (task: Task) => Promise<void>;

export function createPerformer(program: Command, readEnv: () => Env): Perform {
  return async (task) => {
    const env = readEnv();
    const ground = await openGround(env);
    const db = openDatabase(ground.connection, { applicationName: "latchkey command", maxConnections: 1 });
    try {
      await print(await task(db, ground, env.quotas), program.opts<{ json?: boolean }>().json === true);
    } finally {
      await db.destroy();
      await ground.close();
    }
  };
}
