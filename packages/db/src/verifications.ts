import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Db, Trx } from "./schema.ts";

/** What a single-use token allows. */
export type VerificationPurpose =
  | "password-reset"
  /** Stored with a token for a new password that was emailed, and not shown to an operator. */
  | "emailed-password-reset"
  | "email-verification"
  | "invitation"
  | "email-change"
  | "second-factor"
  | "passkey"
  | "openid";

/** A single-use token, of which only the digest is stored. */
export interface VerificationName {
  readonly purpose: VerificationPurpose;
  /** SHA-256 of the token. */
  readonly digest: Buffer;
}

function identify({ purpose, digest }: VerificationName): string {
  return `${purpose}:${digest.toString("hex")}`;
}

/**
 * Stores a token. Returns when it expires, by the database's clock.
 * @param subject what the token is about, such as the ID of a user.
 */
export async function insertVerification(
  trx: Trx,
  name: VerificationName,
  { subject, lifetimeSeconds }: { readonly subject: string; readonly lifetimeSeconds: number },
): Promise<Date> {
  const { expires_at } = await trx
    .insertInto("verifications")
    .values({
      id: randomUUID(),
      identifier: identify(name),
      value: subject,
      expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`,
    })
    .returning("expires_at")
    .executeTakeFirstOrThrow();
  return expires_at;
}

/** Returns the subject of a token that is neither used nor expired. */
export async function findVerification(db: Db, name: VerificationName): Promise<string | undefined> {
  const row = await db
    .selectFrom("verifications")
    .select("value")
    .where("identifier", "=", identify(name))
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .executeTakeFirst();
  return row?.value;
}

/** Uses up a token. Of concurrent calls, one returns true. */
export async function consumeVerification(trx: Trx, name: VerificationName): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("verifications")
    .where("identifier", "=", identify(name))
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Deletes the tokens of a purpose about a subject, except the newest ones. */
export async function deleteOlderVerifications(
  trx: Trx,
  {
    purpose,
    subject,
    keptCount,
  }: { readonly purpose: VerificationPurpose; readonly subject: string; readonly keptCount: number },
): Promise<void> {
  await trx
    .deleteFrom("verifications")
    .where("id", "in", (eb) =>
      eb
        .selectFrom("verifications")
        .select("id")
        .where("value", "=", subject)
        .where("identifier", "like", `${purpose}:%`)
        .orderBy("expires_at", "desc")
        .orderBy("id")
        .offset(keptCount),
    )
    .execute();
}

/**
 * Deletes all tokens of a purpose about a subject, as {@link deleteVerifications}, and the records with the same tokens for another
 * purpose.
 */
export async function deleteVerificationsOfBothPurposes(
  trx: Trx,
  {
    purpose,
    otherPurpose,
    subject,
  }: {
    readonly purpose: VerificationPurpose;
    readonly otherPurpose: VerificationPurpose;
    readonly subject: string;
  },
): Promise<void> {
  await sql`
    with deleted as (
      delete from verifications
      where (value = ${subject} or value like ${`${subject} %`}) and identifier like ${`${purpose}:%`}
      returning identifier
    )
    delete from verifications
    where identifier in (select ${otherPurpose}::text || substr(identifier, ${purpose.length + 1}) from deleted)`.execute(
    trx,
  );
}

/** Deletes all tokens of a purpose about a subject, which may be followed by a space and details. */
export async function deleteVerifications(
  trx: Trx,
  { purpose, subject }: { readonly purpose: VerificationPurpose; readonly subject: string },
): Promise<void> {
  await trx
    .deleteFrom("verifications")
    .where((eb) => eb("value", "=", subject).or("value", "like", `${subject} %`))
    .where("identifier", "like", `${purpose}:%`)
    .execute();
}
