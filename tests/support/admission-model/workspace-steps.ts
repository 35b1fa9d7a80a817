import { randomUUID } from "node:crypto";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { insertMember } from "@latchkey/db/members";
import type { Role } from "@latchkey/db/role";
import { runText } from "@latchkey/db/run-text";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { type CreatedKey, callProcedure, signUp } from "../account.ts";
import { getMembership } from "../membership.ts";
import type { AgeModel, PolicyModel } from "./key-restrictions.ts";
import type { RoleModel } from "./model.ts";
import { call, editOutcomeOf, type Key, keyIdOf, type Person, type Stage } from "./stage.ts";

/** The workspace whose members change, and the key of its owner, who never changes. */
interface Team {
  readonly workspaceId: string;
  /** Meets every policy. */
  readonly ownerKey: string;
  /** A `Cookie` header with the owner's session. */
  readonly cookie: string;
}

/** The steps of a scenario that change the workspace: its members, its policy, and what it decides about keys. */
export class WorkspaceSteps {
  readonly #stage: Stage;
  #team: Team | undefined;
  /** Serializes what the workspace decides about keys. */
  #lastByWorkspace: Promise<unknown> = Promise.resolve();
  #policy: PolicyModel = "none";

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Undefined until the workspace was created. */
  get workspaceId(): string | undefined {
    return this.#team?.workspaceId;
  }

  async open(baseUrl: string): Promise<void> {
    const owner = await signUp(baseUrl, `${randomUUID()}@example.com`);
    const { workspaceId } = await getMembership(baseUrl, owner);
    const settings = { expiresAt: { inSeconds: 20 * 86_400 }, ipRanges: ["127.0.0.0/8", "::/1"] };
    const answer = await call(baseUrl, owner.cookie, "apiKeys.create", { name: "team", settings });
    const { key } = answer.data as CreatedKey; // The router's type for this procedure.
    this.#team = { workspaceId, ownerKey: key, cookie: owner.cookie };
  }

  /** Adds a member as the `latchkey` command does; changes and removes members through the open API. */
  async setRole(baseUrl: string, person: Person, role: RoleModel): Promise<readonly Key[]> {
    const from = person.role;
    person.role = role;
    const turn = person.lastRoleChange.then(async () => {
      if (from === role) return;
      const end = this.#stage.model.beginRoleChange(person.model, from, role);
      if (from === undefined)
        await this.#addMember(person, role as Role); // `from` is undefined and differs from `role`.
      else await this.#editMember(baseUrl, person, role);
      end();
    });
    person.lastRoleChange = turn.catch(() => undefined);
    await turn;
    return this.#stage.keys.filter(({ owner }) => owner === person);
  }

  async #addMember({ userId }: Person, role: Role): Promise<void> {
    const workspaceId = decodeId("workspace", this.#team?.workspaceId ?? "");
    const user = decodeId("user", userId);
    if (!workspaceId || !user) throw new Error("The workspace doesn't exist yet.");
    const scope = openAsOperator(workspaceId);
    await inWorkspace(this.#stage.db, scope, async (trx) => {
      await insertMember(trx, scope, { userId: user, role });
      // Members joined long ago, so that only keys decide what is idle.
      const text = "update members set created_at = now() - interval '100 days' where user_id = $1";
      await runText(trx, text, [user]);
    });
  }

  async #editMember(baseUrl: string, { userId }: Person, role: RoleModel): Promise<void> {
    const path = `/open/workspaces/${this.#team?.workspaceId}/members/${userId}`;
    const headers = {
      Authorization: `Bearer ${this.#team?.ownerKey}`,
      "Content-Type": "application/json",
    };
    const change = role ? { method: "PATCH", body: JSON.stringify({ role }) } : { method: "DELETE" };
    const { status } = await fetch(baseUrl + path, { headers, ...change });
    if (status !== (role ? 200 : 204)) throw new Error(`A change to a role returned ${status}.`);
  }

  /** Blocks or unblocks a key in the workspace. Unblocking changes only a key that is blocked or rejected as idle. */
  async block(baseUrl: string, key: Key, isBlocked: boolean): Promise<readonly Key[]> {
    const { model } = key;
    await this.#byWorkspace(async ({ workspaceId, cookie }) => {
      const isRejected = key.isBlocked || (this.#policy === "idle" && key.isIdle);
      const isChange = isBlocked ? !key.isBlocked : isRejected;
      const isStillIdle = key.isIdle && (isBlocked || !isChange);
      const to = {
        isBlocked: isChange ? isBlocked : key.isBlocked,
        age: ageOf({ ...key, isIdle: isStillIdle }),
      };
      const end = this.#stage.model.beginWorkspaceChange(model, isBlocked ? "blocks" : "unblocks", to);
      const path = `workspaceKeys.${isBlocked ? "block" : "unblock"}`;
      const outcome = editOutcomeOf(await call(baseUrl, cookie, path, { workspaceId, keyIds: [model.id] }));
      if (outcome === "rejected") throw new Error(`${path} was rejected.`);
      end(outcome === "done");
      if (outcome !== "done" || !isChange) return;
      key.isBlocked = isBlocked;
      key.isIdle = isStillIdle;
      if (!isBlocked) key.wasUnblocked = true;
    });
    return [key];
  }

  /**
   * Lets a key have been created long ago. The nodes' history has no uses in workspaces, so it becomes idle, unless it
   * was unblocked.
   */
  async makeIdle(key: Key): Promise<readonly Key[]> {
    const id = keyIdOf(key.model.id);
    await this.#byWorkspace(async () => {
      key.isOld = true;
      key.isIdle ||= !key.wasUnblocked;
      const to = { isBlocked: key.isBlocked, age: ageOf(key) };
      const end = this.#stage.model.beginWorkspaceChange(key.model, "idlePeriods", to);
      await this.#stage.db.transaction().execute(async (trx) => {
        const text = "update api_keys set created_at = now() - interval '100 days' where id = $1";
        await runText(trx, text, [id]);
        await bumpKeyVersions(trx, { keyId: id });
      });
      end(true);
    });
    return [key];
  }

  async setPolicy(baseUrl: string, to: PolicyModel): Promise<readonly Key[]> {
    await this.#byWorkspace(async ({ workspaceId, cookie }) => {
      const answer = await callProcedure(baseUrl, {
        path: "workspaceKeys.policy",
        kind: "query",
        input: { workspaceId },
        cookie,
      });
      const { version } = answer.data as { readonly version: number }; // The router's type for this procedure.
      const end = this.#stage.model.beginPolicy(to);
      const policy = {
        isExpiryRequired: to === "expiry-required",
        maxLifetimeDays: to === "max-lifetime" ? 30 : null,
        areIpRangesRequired: to === "ip-ranges-required",
        maxIdleDays: to === "idle" ? 30 : null,
      };
      const input = { workspaceId, ...policy, version };
      const outcome = editOutcomeOf(await call(baseUrl, cookie, "workspaceKeys.changePolicy", input));
      if (outcome !== "done") throw new Error(`A change to the policy was ${outcome}.`);
      this.#policy = to;
      end();
    });
    return this.#stage.keys;
  }

  async #byWorkspace(work: (team: Team) => Promise<void>): Promise<void> {
    const turn = this.#lastByWorkspace.then(async () => {
      if (!this.#team) throw new Error("The workspace doesn't exist yet.");
      await work(this.#team);
    });
    this.#lastByWorkspace = turn.catch(() => undefined);
    await turn;
  }
}

function ageOf({ isIdle, isOld }: Pick<Key, "isIdle" | "isOld">): AgeModel {
  if (isIdle) return "idle";
  return isOld ? "old" : "new";
}
