import { BackupError } from "@latchkey/db/backup-error";

/** Has errors about the contents of a backup name its file. */
export async function namingFile<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BackupError) || error.kind !== "damaged-file") throw error;
    throw new BackupError(error.kind, `${path} can't be restored. ${error.message}`, { cause: error });
  }
}
