/** Why the embedded Postgres is not available. */
export type EmbeddedPostgresErrorKind =
  | "cluster-missing"
  | "data-directory-not-private"
  | "data-directory-not-writable"
  | "no-user"
  | "not-reachable"
  | "other-owner"
  | "other-version"
  | "start-failed"
  | "stop-failed"
  | "unsupported-platform";

/** A failure of the embedded Postgres. `message` is one sentence for the person who runs Latchkey. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly kind: EmbeddedPostgresErrorKind;

  constructor(kind: EmbeddedPostgresErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The `code` of a Node or Postgres error (`ENOENT`, `57P03`); undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
