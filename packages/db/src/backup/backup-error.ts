/** Why a backup can't be made or restored. */
export type BackupErrorKind =
  /** The file isn't a backup, is truncated or was changed. */
  | "damaged-file"
  /** A newer version of Latchkey made the backup, or migrated the database. */
  | "newer-version"
  /** The schema of the database can't be backed up or restored to as it is. */
  | "unsuitable-schema"
  /** The login may not read all rows. */
  | "unsuitable-login"
  /** The database to restore to has data. */
  | "database-not-empty"
  /** Another Latchkey process uses the database to restore to. */
  | "database-in-use"
  /** The database does not respond. */
  | "silent-database"
  /** The database rejects rows of the backup. */
  | "rejected-rows"
  /** The file exists. */
  | "file-exists"
  /** The operating system rejects reading or writing the file. */
  | "file-inaccessible"
  /** There is no such file. */
  | "file-missing";

/** A backup can't be made or restored. `message` is one or two sentences for the operator. No data was changed. */
export class BackupError extends Error {
  override readonly name = "BackupError";
  readonly kind: BackupErrorKind;

  constructor(kind: BackupErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
