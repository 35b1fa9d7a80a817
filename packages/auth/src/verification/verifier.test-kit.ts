import { createHash, randomBytes, randomUUID } from "node:crypto";
import {
  type ConsumerId,
  createId,
  type IssuedKeyId,
  type KeyId,
  type KeyspaceId,
  type UserId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import type { NamedLimit, Refill } from "@latchkey/db/issued-key-settings";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { type RawBuilder, sql } from "kysely";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import { admissionKit, patientTimeouts, type TestKey } from "../admission/admission.test-kit.ts";
import { digestKey, isWellFormedApiKey } from "../key-format.ts";
import { verification } from "./decision.test-kit.ts";
import type { Verification, VerificationRequest } from "./verification.ts";
import { Verifier, type VerifierOptions } from "./verifier.ts";
import type { VerifierAnswer } from "./verifier-answer.ts";

/** A keyspace, and the API key of a member of its workspace. */
export interface TestKeyspace {
  readonly caller: TestKey;
  readonly workspaceId: WorkspaceId;
  readonly keyspaceId: KeyspaceId;
}

export interface TestIssuedKey {
  readonly id: IssuedKeyId;
  readonly secret: string;
}

interface IssuedKeySettings {
  readonly secret?: string;
  readonly limits?: readonly NamedLimit[];
  readonly credits?: number;
  readonly refill?: Refill;
  readonly consumerId?: ConsumerId;
  /** Whether an earlier verification used the key; true by default, if the key has no meters. */
  readonly isInUse?: boolean;
}

/** What the row of a counter holds. */
interface StoredCounter {
  readonly uses: number;
  readonly credits: number | null;
  readonly has_unused_secret: boolean | null;
  /** Whether a row of `issued_key_uses` counts its uses. */
  readonly isInUse: boolean;
  readonly windows: Readonly<Record<string, readonly [endsAt: number, spent: number]>> | null;
}

/** Options for tests of exact counts: no request reaches its deadline, even on a busy machine. */
export const patient = { ...patientTimeouts, maxWaiting: 10_000 };

let lastIssuedKeyId = "";

/** An ID after those of all keys that were issued before. IDs of the same millisecond are in random order. */
function nextIssuedKeyId(): IssuedKeyId {
  let id = createId("issuedKey");
  while (id <= lastIssuedKeyId) id = createId("issuedKey");
  lastIssuedKeyId = id;
  return id;
}

/** The name of a request with an `Idempotency-Key`. */
export function nameRequest(key: string, body = "body"): NonNullable<VerificationRequest["name"]> {
  const requestHash = createHash("sha256").update(body).digest();
  return { method: "POST", path: "/open/keys/verify", key, requestHash };
}

/** A limit per hour. */
export const hourly = (quota: number, name = "requests", appliesAlways = true): NamedLimit => ({
  name,
  quota,
  windowSeconds: 3_600,
  appliesAlways,
});

/** Creates a database for the tests of a file. @returns functions that prepare tests, and one that returns the database. */
export function setUpVerifierTests() {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase(inject("postgres"));
  });
  afterAll(() => database.drop());
  return { ...verifierKit(() => database), database: () => database };
}

/** Functions that prepare tests of the verifier. Rows are inserted directly, so that a test doesn't depend on the API. */
export function verifierKit(database: () => TestDatabase) {
  const { addKey, hold } = admissionKit(database);
  const execute = <Row>(statement: RawBuilder<Row>) => statement.execute(database().owner);
  const addKeyspaceTo = async (workspaceId: WorkspaceId): Promise<KeyspaceId> => {
    const id = createId("keyspace");
    await execute(sql`
      insert into keyspaces (workspace_id, id, name, prefix) values (${workspaceId}, ${id}, 'API', 'acme')`);
    return id;
  };
  return {
    addKey,
    hold,
    execute,
    addKeyspaceTo,
    /** Opens a new node, which is closed when the test ends. By default, it has the deadlines of {@link patientTimeouts}. */
    openNode(options: Partial<VerifierOptions> = {}): Verifier {
      const node = new Verifier({ connection: database().connection, ...patientTimeouts, ...options });
      onTestFinished(() => node.close());
      return node;
    },
    async addKeyspace({ role = "member" } = {}): Promise<TestKeyspace> {
      const caller = await addKey();
      const workspaceId = createId("workspace");
      await execute(sql`
        insert into workspaces (id, name, slug) values (${workspaceId}, 'Acme', ${randomUUID()})`);
      await execute(sql`
        insert into members (workspace_id, user_id, role) values (${workspaceId}, ${caller.userId}, ${role})`);
      return { caller, workspaceId, keyspaceId: await addKeyspaceTo(workspaceId) };
    },
    async addConsumer(
      { workspaceId, keyspaceId }: TestKeyspace,
      limits: readonly NamedLimit[],
    ): Promise<ConsumerId> {
      const id = createId("consumer");
      await execute(sql`
        insert into consumers (workspace_id, keyspace_id, id, external_id, limits)
        values (${workspaceId}, ${keyspaceId}, ${id}, ${id}, ${JSON.stringify(limits)})`);
      await execute(sql`insert into key_counters (key_id) values (${id})`);
      return id;
    },
    async issueKey(
      { workspaceId, keyspaceId }: Pick<TestKeyspace, "workspaceId" | "keyspaceId">,
      settings: IssuedKeySettings = {},
    ): Promise<TestIssuedKey> {
      const { limits = [], credits = null, refill, consumerId = null, isInUse = true } = settings;
      const { secret = `acme_${randomBytes(24).toString("hex")}` } = settings;
      const id = nextIssuedKeyId();
      await execute(sql`
        insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start, limits, refill)
        values (${workspaceId}, ${keyspaceId}, ${id}, ${consumerId}, ${Buffer.from(digestKey(secret), "base64")},
          'acme_', ${JSON.stringify(limits)}, ${refill ? JSON.stringify(refill) : null})`);
      await execute(sql`insert into key_counters (key_id, credits) values (${id}, ${credits})`);
      const isMetered = limits.length > 0 || credits !== null || consumerId !== null;
      if (isInUse && !isMetered)
        await execute(sql`insert into issued_key_uses (key_id, version) values (${id}, 1)`);
      return { id, secret };
    },
    /** Increments the version of a key, as every change to the key does. */
    async bumpKey(id: KeyId | IssuedKeyId): Promise<void> {
      await execute(sql`update key_counters set version = version + 1 where key_id = ${id}`);
    },
    /** Replaces the secret of a key, as a rotation does. @param goodUntil when the overlap of the old secret ends. */
    async retire({ id }: Pick<TestIssuedKey, "id">, goodUntil: RawBuilder<unknown>): Promise<void> {
      await execute(sql`
        insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
        select hash, workspace_id, keyspace_id, id, start, ${goodUntil} from issued_keys where id = ${id}`);
      await execute(sql`update issued_keys set hash = sha256(hash) where id = ${id}`);
      await execute(sql`update key_counters set version = version + 1 where key_id = ${id}`);
    },
    /** Increments the version of an owner of keys, as every change to the owner does. */
    async bumpOwner(id: KeyspaceId | ConsumerId | UserId): Promise<void> {
      await execute(sql`
        insert into owner_versions (owner_id, version) values (${id}, 1)
        on conflict (owner_id) do update set version = owner_versions.version + 1`);
    },
    /** Makes every change to the counter of a key fail with this SQLSTATE. */
    async failChanges(
      { id }: Pick<TestIssuedKey, "id">,
      code: string,
      { when = "before" }: { readonly when?: "before" | "on commit" } = {},
    ): Promise<void> {
      const name = sql.id(`fail_${id.replaceAll("-", "")}`);
      await execute(sql`
        create function ${name}() returns trigger language plpgsql as $$
        begin raise exception 'poisoned' using errcode = ${sql.lit(code)}; end $$`);
      const timing =
        when === "before" ? sql`trigger ${name} before update` : sql`constraint trigger ${name} after update`;
      for (const table of ["key_counters", "issued_key_uses"] as const) {
        await execute(sql`
          create ${timing} on ${sql.id(table)} ${when === "before" ? sql`` : sql`deferrable initially deferred`}
          for each row when (new.key_id = ${sql.lit(id)}) execute function ${name}()`);
        onTestFinished(async () => {
          await execute(sql`drop trigger ${name} on ${sql.id(table)}`);
        });
      }
    },
    async readCounter(id: string): Promise<StoredCounter | undefined> {
      const { rows } = await execute(sql<StoredCounter>`
        select (counter.use_count + coalesce(own.use_count, 0))::integer as uses, credits::integer,
          has_unused_secret, windows, own.key_id is not null as "isInUse"
        from key_counters counter left join issued_key_uses own using (key_id) where key_id = ${id}`);
      return rows[0];
    },
  };
}

export function verificationOf(
  { secret }: Pick<TestIssuedKey, "secret">,
  change: Partial<Verification> = {},
): Verification {
  return {
    ...verification,
    digest: digestKey(secret),
    isApiKey: isWellFormedApiKey(secret),
    ...change,
  };
}

/** The codes of the results of an admitted request; otherwise the kind of the verdict. */
export function codesOf({ verdict, outcome }: VerifierAnswer): readonly string[] {
  return outcome?.kind === "verified"
    ? outcome.results.map(({ code }) => code)
    : [outcome?.kind ?? verdict.kind];
}

/** Verifies one key with one request, and returns its code, or the kind of the verdict. */
export async function verify(
  node: Verifier,
  { caller }: Pick<TestKeyspace, "caller">,
  key: Pick<TestIssuedKey, "secret">,
  change: Partial<Verification> = {},
): Promise<string> {
  const verifications = [verificationOf(key, change)];
  const [code = "none"] = codesOf(
    await node.verify(caller.secret, { address: undefined, name: undefined, verifications }),
  );
  return code;
}

export const count = (codes: readonly string[], code: string): number =>
  codes.filter((one) => one === code).length;
