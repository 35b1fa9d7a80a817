import { randomBytes } from "node:crypto";
import { createId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { NoticeContent } from "@latchkey/db/notice-kinds";
import { insertPastRows, type PastRow, toHex } from "@latchkey/db/past-rows";
import type { Trx } from "@latchkey/db/schema";
import type { DemoKey } from "./keys.ts";
import { namedPeople, type Person } from "./people.ts";
import type { Random } from "./random.ts";

const dayMs = 86_400_000;

export interface DemoSecrets {
  /** The hash of the password that all people share. */
  readonly passwordHash: string;
  /** Encrypts the secret of a user's authenticator app. */
  readonly sealTotpSecret: (userId: UserId) => Buffer;
}

interface Accounts {
  readonly people: readonly Person[];
  readonly keys: readonly DemoKey[];
  readonly workspaceId: WorkspaceId;
  readonly workspaceName: string;
  readonly now: Date;
}

/** Adds the users with their passwords. The workspace and its keys refer to them. */
export async function insertUsers(
  trx: Trx,
  people: readonly Person[],
  { passwordHash }: DemoSecrets,
): Promise<void> {
  const users = people.map(({ id, name, email, joinedAt }) => ({
    id,
    name,
    email,
    email_verified: true,
    created_at: joinedAt,
    updated_at: joinedAt,
  }));
  // The first account of an instance becomes its operator; it must not share a statement with others.
  await insertPastRows(trx, "users", users.slice(0, 1));
  await insertPastRows(trx, "users", users.slice(1));
  const accounts = people.map(({ id, joinedAt }) => ({
    id: createId("account"),
    user_id: id,
    account_id: id,
    provider_id: "credential",
    password: passwordHash,
    created_at: joinedAt,
    updated_at: joinedAt,
  }));
  await insertPastRows(trx, "accounts", accounts);
}

/** Adds what the accounts have: sessions, devices, second factors, identities, sign-ins and notices. */
export async function insertAccountRows(
  trx: Trx,
  random: Random,
  { people, now, ...rest }: Accounts & DemoSecrets,
): Promise<void> {
  // The named people have no second factor, so that anyone can sign in as them.
  const others = people.slice(namedPeople);
  await insertPastRows(trx, "sessions", others.slice(0, 56).map(createSession(now)));
  await insertPastRows(
    trx,
    "known_devices",
    people.map(({ id, device }) => ({ user_id: id, device, last_used_at: now })),
  );
  await insertPastRows(trx, "passkeys", others.slice(0, 36).map(createPasskey));
  const withTotp = others.slice(36, 76);
  await insertPastRows(trx, "totp_factors", withTotp.map(createTotpFactor(rest)));
  await insertPastRows(trx, "recovery_codes", withTotp.flatMap(createRecoveryCodes));
  await insertPastRows(trx, "identities", others.slice(76, 176).map(createIdentity));
  await insertPastRows(trx, "security_events", createSignIns(random, people, now));
  await insertPastRows(trx, "notices", createNotices({ people, now, ...rest }));
}

function createSession(now: Date): (person: Person, index: number) => PastRow<"sessions"> {
  return ({ id, address, userAgent }, index) => {
    const startedAt = new Date(now.getTime() - ((index % 20) + 1) * dayMs);
    return {
      id: createId("session"),
      user_id: id,
      token: randomBytes(24).toString("base64url"),
      expires_at: new Date(now.getTime() + 7 * dayMs),
      ip_address: address,
      user_agent: userAgent,
      created_at: startedAt,
      updated_at: startedAt,
      last_used_at: startedAt,
    };
  };
}

function createPasskey({ id, joinedAt }: Person): PastRow<"passkeys"> {
  return {
    id: createId("passkey"),
    user_id: id,
    credential_id: randomBytes(16).toString("base64url"),
    public_key: toHex(randomBytes(77)),
    sign_count: 0,
    transports: ["internal"],
    name: "Laptop",
    created_at: joinedAt,
  };
}

function createTotpFactor({
  sealTotpSecret,
}: Pick<DemoSecrets, "sealTotpSecret">): (person: Person) => PastRow<"totp_factors"> {
  return ({ id, joinedAt }) => ({
    user_id: id,
    secret: toHex(sealTotpSecret(id)),
    confirmed_at: joinedAt,
    created_at: joinedAt,
  });
}

function createRecoveryCodes({ id }: Person): readonly PastRow<"recovery_codes">[] {
  return Array.from({ length: 10 }, () => ({ user_id: id, digest: toHex(randomBytes(32)) }));
}

function createIdentity({ id, email, joinedAt }: Person): PastRow<"identities"> {
  const issuer = `https://login.${email.split("@")[1]}`;
  return { issuer, subject: id, user_id: id, email, created_at: joinedAt, last_used_at: joinedAt };
}

/** The last sign-ins of each person, some with a wrong password. */
function createSignIns(
  random: Random,
  people: readonly Person[],
  now: Date,
): readonly PastRow<"security_events">[] {
  return people.flatMap(({ id, address, userAgent, joinedAt }) =>
    Array.from({ length: random.integer(1, 8) }, () => ({
      user_id: id,
      id: createId("securityEvent"),
      occurred_at: random.time(joinedAt, now),
      action: random.weighted({ "sign-in.succeeded": 9, "sign-in.failed": 1 }),
      actor_kind: "session" as const,
      address,
      user_agent: userAgent,
    })),
  );
}

/** Notices to the first 40 people, of which the older ones have been read. */
function createNotices({
  people,
  keys,
  workspaceId,
  workspaceName,
  now,
}: Accounts): readonly PastRow<"notices">[] {
  return people.slice(0, 40).flatMap(({ id, role, device, address }) => {
    const key = keys.find(({ owner }) => owner.id === id);
    const formerRole = role === "viewer" ? "member" : "viewer";
    const contents: readonly NoticeContent[] = [
      { kind: "new-device", facts: { device, address } },
      // The owner created the workspace.
      ...(role === "owner"
        ? []
        : [{ kind: "role-changed", facts: { workspaceId, workspaceName, formerRole, role } } as const]),
      ...(key ? createKeyNotices(key) : []),
    ];
    return contents.map(({ kind, facts }, index) => {
      const createdAt = new Date(now.getTime() - (contents.length - index) * 5 * dayMs);
      return {
        id: createId("notice"),
        user_id: id,
        kind,
        subject: `demo ${id}`,
        facts,
        is_shown: true,
        is_email_due: false,
        read_at: index < 2 ? createdAt : null,
        created_at: createdAt,
      };
    });
  });
}

function createKeyNotices({ id: keyId, name: keyName, owner }: DemoKey): readonly NoticeContent[] {
  return [
    { kind: "new-network", facts: { keyId, keyName, network: owner.network } },
    { kind: "former-secret-used", facts: { keyId, keyName, address: owner.address } },
  ];
}
