import { resolve } from "node:path";
import { readBackup } from "@latchkey/db/read-backup";
import { restoreDatabase } from "@latchkey/db/restore-database";
import { z } from "zod";
import { describeCreation, describeLocation } from "../../database-server.ts";
import { recordRestore } from "../../domain/instance-log.ts";
import { describeMigrationWarning, withStartErrors } from "../../prepare-database.ts";
import { commandOrigin } from "../command-origin.ts";
import { itemOf } from "../result.ts";
import { defineServerTask } from "../server-task.ts";
import { writeWarnings } from "../warnings.ts";
import { addFileToErrors } from "./add-file-to-errors.ts";
import { openBackupFile } from "./backup-file.ts";
import { withLoginRole } from "./with-login-role.ts";

/** Restores a backup into an empty database. Creates the embedded database if there is none. */
export const restoreTask = defineServerTask({
  input: z.strictObject({ file: z.string().min(1, "Expected the path of a file.") }),
  // The whole file is checked before a database is created for it.
  prepare: async ({ file }, signal) => {
    const path = resolve(file);
    const backup = await openBackupFile(path, signal);
    try {
      const { header } = await addFileToErrors(path, () => readBackup(backup.read()));
      return { path, backup, header };
    } catch (error) {
      await backup.close();
      throw error;
    }
  },
  canCreate: true,
  perform: async ({ server, env, stderr, signal }, { path, backup, header }) => {
    const { connection, isEmbedded } = server;
    const restored = addFileToErrors(path, () =>
      restoreDatabase(connection, {
        header,
        openBackup: backup.read,
        isEmbedded,
        onWarning: (warning) => writeWarnings(stderr, [describeMigrationWarning(warning)]),
        signal,
      }),
    );
    const { rowCount, isNew, analyzeFailure } = await withStartErrors(() => restored).finally(backup.close);
    // Recorded after the last migration, because the schema of an old backup has no instance log.
    await withStartErrors(() =>
      withLoginRole(connection, "latchkey restore", (db) => recordRestore(db, commandOrigin, header)),
    );
    if (isNew) stderr.write(`${describeCreation(describeLocation(env), server)}\n`);
    if (analyzeFailure !== undefined)
      stderr.write(
        `The backup is restored, but the database's statistics could not be updated (${analyzeFailure}); Postgres will update them automatically.\n`,
      );
    return itemOf({ file: path, createdAt: header.createdAt, rowCount }, [
      { label: "File", text: (summary) => summary.file },
      { label: "Snapshot", text: ({ createdAt }) => createdAt },
      { label: "Rows", text: (summary) => String(summary.rowCount) },
    ]);
  },
});
