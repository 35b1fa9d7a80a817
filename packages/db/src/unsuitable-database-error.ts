/** Why Latchkey can't use a database as it is. */
export type UnsuitableDatabaseKind =
  | "foreign-migrations-table"
  | "schema-diverged"
  | "schema-named-like-login"
  | "schema-too-new";

/** The database needs a change, or another version of Latchkey; `message` is one sentence for the operator. */
export class UnsuitableDatabaseError extends Error {
  override readonly name = "UnsuitableDatabaseError";
  readonly kind: UnsuitableDatabaseKind;

  constructor(kind: UnsuitableDatabaseKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
