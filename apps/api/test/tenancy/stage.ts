import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import { encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { insertUserWithPassword } from "@latchkey/db/users";
import { createKey } from "../../src/domain/api-keys.ts";
import { addMember, removeMember } from "../../src/domain/members.ts";
import { defaultQuotas } from "../../src/domain/quotas.ts";
import { createWorkspace } from "../../src/domain/workspaces.ts";
import { password, type TestApp } from "../test-app.ts";
import type { Caller } from "./table.ts";

export interface Person {
  readonly userId: UserId;
  /** As callers see it. */
  readonly id: string;
  readonly email: string;
}

export interface StagedWorkspace {
  readonly workspaceId: WorkspaceId;
  /** As callers see it. */
  readonly id: string;
  readonly name: string;
}

/** Two tenants that have nothing to do with each other, as if made for one call. */
export interface Stage {
  readonly ours: StagedWorkspace;
  readonly theirs: StagedWorkspace;
  /** The stranger and the foreigner are of the other tenant; all others are, or were, of ours. */
  readonly people: Readonly<Record<Exclude<Caller, "nobody"> | "target" | "coOwner" | "foreigner", Person>>;
  /** A key of our owner's, which nobody else may see, except an admin in the lists of the workspace. */
  readonly ownersKey: {
    readonly id: string;
    readonly name: string;
    readonly keyId: KeyId;
    readonly secret: string;
  };
  /** What stands for each tenant in an answer: nobody of the other one may ever see it. */
  readonly marks: { readonly ours: readonly string[]; readonly theirs: readonly string[] };
}

const byCommand: Origin = { actor: { kind: "command" }, address: null, requestId: null };
/** The {@link password} hashed with the smallest parameters of argon2id: tests sign in hundreds of times. */
const passwordHash =
  "$argon2id$v=19$m=8,t=1,p=1$IxXWeiHhgFB5CpiJfNbcXw$cijKxEx2LpNc4flo/31JT5G9Fu6a1JAAD8BWCA5nNGs";

/** The stages that the last test of an app left as it found them. */
const untouched = new WeakMap<TestApp, Stage>();

/** Lets the next test have this stage: making one takes longer than most tests. Only for who saw that nothing has changed. */
export function leaveUntouched(app: TestApp, stage: Stage): void {
  untouched.set(app, stage);
}

/** Replaces whatever an earlier test left, so that no call affects another, and reading every row stays fast. */
export async function setStage(app: TestApp): Promise<Stage> {
  const left = untouched.get(app);
  untouched.delete(app);
  if (!left) return await createStage(app);
  // What the test before signed in and called with.
  await app.owner.deleteFrom("sessions").execute();
  const { keyId } = left.ownersKey;
  await app.owner.deleteFrom("api_keys").where("id", "!=", keyId).execute();
  await app.owner.deleteFrom("security_events").where("key_id", "!=", keyId).execute();
  await app.owner
    .deleteFrom("audit_events")
    .where("target_kind", "=", "key")
    .where("target_id", "!=", keyId)
    .execute();
  return left;
}

async function createStage({ instance: { db }, owner }: TestApp): Promise<Stage> {
  // Everything that tests compare belongs to a workspace or a user, and goes with it.
  await owner.deleteFrom("workspaces").execute();
  await owner.deleteFrom("users").execute();
  const mark = crypto.randomUUID().slice(0, 8);
  return await db
    .transaction()
    .execute(async (trx) => {
      const add = (name: string): Promise<Person> =>
        addPerson(trx, `${name}-${mark}@example.com`, passwordHash);
      const people = {
        stranger: await add("stranger"),
        foreigner: await add("foreigner"),
        removed: await add("removed"),
        viewer: await add("viewer"),
        member: await add("member"),
        admin: await add("admin"),
        owner: await add("owner"),
        target: await add("target"),
        coOwner: await add("co-owner"),
      };
      const ours = await addWorkspace(trx, `Ours ${mark}`, people.owner);
      const inOurs = { scope: openAsOperator(ours.workspaceId), origin: byCommand };
      for (const role of ["admin", "member", "viewer"] as const)
        await addMember(trx, inOurs, { userId: people[role].userId, role }, defaultQuotas);
      await addMember(trx, inOurs, { userId: people.target.userId, role: "viewer" }, defaultQuotas);
      await addMember(trx, inOurs, { userId: people.coOwner.userId, role: "owner" }, defaultQuotas);
      // Somebody who could do everything, until a moment ago.
      await addMember(trx, inOurs, { userId: people.removed.userId, role: "owner" }, defaultQuotas);
      await removeMember(trx, inOurs, people.removed);
      const theirs = await addWorkspace(trx, `Theirs ${mark}`, people.stranger);
      const inTheirs = { scope: openAsOperator(theirs.workspaceId), origin: byCommand };
      await addMember(trx, inTheirs, { userId: people.foreigner.userId, role: "viewer" }, defaultQuotas);
      return { ours, theirs, people, marks: findMarks({ ours, theirs, people }) };
    })
    .then(async (stage) => {
      const name = `Owner’s ${mark}`;
      const key = { userId: stage.people.owner.userId, name, description: "", origin: byCommand };
      const { id: keyId, secret } = await db
        .transaction()
        .execute((trx) => createKey(trx, key, defaultQuotas));
      return { ...stage, ownersKey: { id: encodeId("key", keyId), name, keyId, secret } };
    });
}

async function addPerson(trx: Trx, email: string, hash: string): Promise<Person> {
  const userId = await insertUserWithPassword(trx, { email, name: email, passwordHash: hash });
  if (!userId) throw new Error(`${email} is taken.`);
  return { userId, id: encodeId("user", userId), email };
}

async function addWorkspace(trx: Trx, name: string, owner: Person): Promise<StagedWorkspace> {
  const { id } = await createWorkspace(
    trx,
    { name, ownerId: owner.userId, origin: byCommand },
    defaultQuotas,
  );
  return { workspaceId: id, id: encodeId("workspace", id), name };
}

function findMarks({ ours, theirs, people }: Pick<Stage, "ours" | "theirs" | "people">): Stage["marks"] {
  const { stranger, foreigner, removed: _removed, ...members } = people;
  const of = (workspace: StagedWorkspace, persons: readonly Person[]): readonly string[] => [
    workspace.id,
    workspace.name,
    ...persons.flatMap(({ id, email }) => [id, email]),
  ];
  return { ours: of(ours, Object.values(members)), theirs: of(theirs, [stranger, foreigner]) };
}

/**
 * What this caller may not find in any response.
 * @param showsKeys whether the response shows admins the keys that can reach their workspace.
 */
export function hiddenFrom(
  caller: Caller,
  { marks, ownersKey }: Stage,
  { showsKeys = false }: { readonly showsKeys?: boolean | undefined } = {},
): readonly string[] {
  const seesKey = caller === "owner" || (caller === "admin" && showsKeys);
  const secret = seesKey ? [] : [ownersKey.name, ownersKey.id];
  switch (caller) {
    case "nobody":
      return [...marks.ours, ...marks.theirs, ...secret];
    case "stranger":
    case "removed":
      return [...marks.ours, ...secret, ...(caller === "removed" ? marks.theirs : [])];
    default:
      return [...marks.theirs, ...secret];
  }
}
