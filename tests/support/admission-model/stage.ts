import { decodeId, type KeyId } from "@latchkey/db/ids";
import { runText } from "@latchkey/db/run-text";
import type { Db } from "@latchkey/db/schema";
import { type Account, type Answer, callProcedure } from "../account.ts";
import type { SteppedClock } from "../stepped-clock.ts";
import type { SecretModel } from "./key-restrictions.ts";
import type { AdmissionModel, EditOutcome, KeyModel, RoleModel, SessionModel, UserModel } from "./model.ts";

/** The nodes under test, and their database. */
export interface NodesUnderTest {
  readonly baseUrls: readonly string[];
  readonly db: Db;
  /** The database's clock. A scenario continues from its current offset. */
  readonly clock: SteppedClock;
}

/** What the steps of a scenario share. */
export interface Stage extends NodesUnderTest {
  readonly model: AdmissionModel;
  readonly keys: Key[];
}

export interface Person {
  readonly model: UserModel;
  readonly account: Account;
  readonly userId: string;
  session: { readonly model: SessionModel; readonly cookie: string };
  /** The role after the latest change that has begun. */
  role: RoleModel;
  lastRoleChange: Promise<void>;
}

export interface Key {
  readonly model: KeyModel;
  readonly owner: Person;
  /** In order of creation. */
  readonly secrets: { readonly text: string; readonly model: SecretModel }[];
  /** Whether the workspace blocks the key. */
  isBlocked: boolean;
  isIdle: boolean;
  /** Whether it was unblocked, so that its idle time started over. */
  wasUnblocked: boolean;
  /** Whether it was created long ago. */
  isOld: boolean;
}

/**
 * Empties the throttle of sign-ins and sign-ups: scenarios have many failed sign-ins of disabled users, and a clock
 * that is set back, and the model doesn't know when those are throttled. Locks the buckets in the order in which an
 * attempt locks them, so that the two can't deadlock.
 */
export async function clearThrottle(db: Db): Promise<void> {
  const locked = "select digest from throttle_buckets order by digest for update";
  await runText(db, `delete from throttle_buckets where digest in (${locked})`, []);
}

export function editOutcomeOf({ status, code }: Answer): EditOutcome {
  if (status === 200) return "done";
  if (code === "UNAUTHORIZED" || code === "FORBIDDEN") return "rejected";
  if (code === "NOT_FOUND") return "missing";
  throw new Error(`An edit returned ${status} ${code}.`);
}

export async function call(baseUrl: string, cookie: string, path: string, input: unknown): Promise<Answer> {
  return await callProcedure(baseUrl, { path, kind: "mutation", input, cookie });
}

export function keyIdOf(id: string): KeyId {
  const decoded = decodeId("key", id);
  if (!decoded) throw new Error(`Not the ID of a key: ${id}`);
  return decoded;
}

export function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("The list is empty.");
  return item;
}
