import type { Trx } from "@latchkey/db/schema";
import type { Call } from "./endpoint-call.ts";

/**
 * A secret that a response issues. It is shown once and not stored, so that a retry can't get it again: a retry gets a
 * new secret or none (docs/decisions/0026). The response also has a `secretStatus`.
 */
interface IssuedSecret<Member extends string, Request, Context extends Call> {
  /** The field of the response with the secret. */
  readonly member: Member;
  /** Computes the SHA-256 that identifies the secret; by default, of the whole secret. */
  readonly digest?: (secret: string) => Buffer;
  /**
   * Replaces the secret that the first response issued, in the transaction of the retry.
   * @param issued.hash the digest of that secret.
   * @param issued.answer the first response, without the secret.
   * @returns undefined if the secret of the first response was used or is no longer current.
   */
  readonly reissue: (
    request: Request,
    call: Context,
    issued: { readonly trx: Trx; readonly hash: Buffer; readonly answer: Record<string, unknown> },
  ) => Promise<Reissued | undefined>;
}

/** The fields that a retry replaces: the new secret, and others that the replacement changed, such as `start` or `version`. */
export type Reissued = Readonly<Record<string, unknown>>;

/**
 * The secrets that a response issues in a list: each item has a secret and a `secretStatus`. A retry gets a new secret or none for
 * each item.
 */
export interface ListedSecrets<List extends string, Request, Context extends Call>
  extends Pick<IssuedSecret<string, Request, Context>, "member" | "digest"> {
  /** The field of the response with the list. */
  readonly list: List;
  /**
   * Replaces the secrets that the first response issued, in the transaction of the retry.
   * @param issued.hashes the digests of these secrets, in the order of the list.
   * @param issued.answer the first response, without the secrets.
   * @returns the fields of each item, in the order of the list; undefined for a secret that was used or is no longer current.
   */
  readonly reissue: (
    request: Request,
    call: Context,
    issued: {
      readonly trx: Trx;
      readonly hashes: readonly Buffer[];
      readonly answer: Record<string, unknown>;
    },
  ) => Promise<readonly (Reissued | undefined)[]>;
}

/** The secrets that a response issues: one, or one per item of a list. */
export type SecretsOf<Field extends string, Request, Context extends Call> =
  | { readonly secret?: IssuedSecret<Field, Request, Context>; readonly secrets?: never }
  | { readonly secret?: never; readonly secrets?: ListedSecrets<Field, Request, Context> };
