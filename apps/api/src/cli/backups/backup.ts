import { resolve } from "node:path";
import { type DumpOptions, dumpDatabase } from "@latchkey/db/dump-database";
import { SchemaMissingError } from "@latchkey/db/migrate";
import { z } from "zod";
import { createNoInstanceError } from "../../database-server.ts";
import { recordBackup } from "../../domain/instance-log.ts";
import { withStartErrors } from "../../prepare-database.ts";
import { version } from "../../version.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineServerTask } from "../server-task.ts";
import { requireNoFile, writeBackupFile } from "./backup-file.ts";
import { withLoginRole } from "./with-login-role.ts";

/** Writes a backup of the instance; changes nothing in the database except for the event in the instance log. */
export const backupTask = defineServerTask({
  input: z.strictObject({
    file: z
      .string()
      .min(1, "Expected the path of a file.")
      .refine(
        (file) => file !== "-",
        "A backup can't be written to standard output. Expected the path of a file.",
      ),
  }),
  prepare: async ({ file }) => {
    const path = resolve(file);
    await requireNoFile(path);
    return path;
  },
  canCreate: false,
  perform: async ({ server, env, signal }, path) => {
    let summary = { createdAt: "", rowCount: 0 };
    const onEnd: DumpOptions["onEnd"] = ({ createdAt }, rowCount) => {
      summary = { createdAt, rowCount };
    };
    try {
      // Recorded before the snapshot, so that no backup is missing from the log, and a restored instance shows which backup
      // it comes from. A backup that is refused by the first checks reads no data and isn't recorded.
      const beforeSnapshot = () =>
        withLoginRole(server.connection, "latchkey backup", (db) => recordBackup(db, commandOrigin));
      const chunks = dumpDatabase(server.connection, { product: version, beforeSnapshot, onEnd, signal });
      const sizeBytes = await withStartErrors(() => writeBackupFile(path, chunks, signal));
      return itemOf({ file: path, ...summary, sizeBytes }, [
        { label: "File", text: ({ file }) => file },
        { label: "Snapshot", text: ({ createdAt }) => createdAt },
        { label: "Rows", text: ({ rowCount }) => String(rowCount) },
        { label: "Size", text: (backup) => `${backup.sizeBytes} bytes` },
      ]);
    } catch (error) {
      throw error instanceof SchemaMissingError ? createNoInstanceError(env) : error;
    }
  },
});
