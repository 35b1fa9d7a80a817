import { BackupError } from "@latchkey/db/backup-error";

/** Adds the path of the file to errors about the contents of a backup. */
export async function addFileToErrors<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BackupError) || error.kind !== "damaged-file") throw error;
    throw new BackupError(error.kind, `${path} can't be restored. ${error.message}`, { cause: error });
  }
}
