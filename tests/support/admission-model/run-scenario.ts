import { randomUUID } from "node:crypto";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, type KeyId } from "@latchkey/db/ids";
import { bumpKeyVersions } from "@latchkey/db/key-counters";
import { insertMember } from "@latchkey/db/members";
import type { Role } from "@latchkey/db/role";
import { runText } from "@latchkey/db/run-text";
import type { Db } from "@latchkey/db/schema";
import { disableUser, enableUser, findUserByEmail } from "@latchkey/db/users";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { type Account, type Answer, type CreatedKey, callProcedure, signIn, signUp } from "../account.ts";
import { getMembership } from "../membership.ts";
import type { SteppedClock } from "../stepped-clock.ts";
import { Connection } from "./connection.ts";
import {
  type AgeModel,
  clockSteps,
  type PolicyModel,
  quota,
  type RequirementModel,
  type SecretModel,
  type SettingsModel,
} from "./key-restrictions.ts";
import {
  AdmissionModel,
  type EditOutcome,
  type KeyModel,
  type ListedKey,
  type RoleModel,
  type SessionModel,
  type UseOutcome,
  type UserModel,
} from "./model.ts";
import type { ScenarioCounts } from "./scenario-counts.ts";
import type { RestrictionKind, Step } from "./steps.ts";

/** The nodes under test, and their database. */
export interface NodesUnderTest {
  readonly baseUrls: readonly string[];
  readonly db: Db;
  /** The database's clock. A scenario continues from its current offset. */
  readonly clock: SteppedClock;
}

interface Person {
  readonly model: UserModel;
  readonly account: Account;
  readonly userId: string;
  session: { readonly model: SessionModel; readonly cookie: string };
  /** The role after the latest change that has begun. */
  role: RoleModel;
  lastRoleChange: Promise<void>;
}

/** The workspace whose members change, and the key of its owner, who never changes. */
interface Team {
  readonly workspaceId: string;
  /** Meets every policy. */
  readonly ownerKey: string;
  /** A `Cookie` header with the owner's session. */
  readonly cookie: string;
}

interface Key {
  readonly model: KeyModel;
  readonly owner: Person;
  /** In order of creation. */
  readonly secrets: { readonly text: string; readonly model: SecretModel }[];
  /** Whether the workspace blocks the key. */
  isBlocked: boolean;
  isIdle: boolean;
  /** Whether it was unblocked, so that its idle time started over, or created long ago. */
  wasUnblocked: boolean;
  isOld: boolean;
}

type Change = Exclude<Step, { kind: "use" | "list" | "clock" }>;

const people = 3;
const keysEach = 2;

/**
 * Performs the steps on the nodes, and reports each request and response to the model.
 * @throws an Error with the history if a response is impossible or a count is wrong.
 */
export async function runScenario(stage: NodesUnderTest, steps: readonly Step[]): Promise<ScenarioCounts> {
  const scenario = new Scenario(stage);
  const failures: unknown[] = [];
  const out = new Set<Promise<void>>();
  try {
    await scenario.open();
    for (const step of steps) {
      const done: Promise<void> = scenario
        .perform(step)
        .catch((error: unknown) => {
          failures.push(error);
        })
        .finally(() => out.delete(done));
      out.add(done);
      if (step.awaits === "itself") await done;
      if (step.awaits === "everything") await Promise.all(out);
      if (failures.length > 0) break;
    }
    await Promise.all(out);
    if (failures.length === 0) await scenario.expectCounts();
  } catch (error) {
    failures.push(error);
  } finally {
    scenario.close();
  }
  if (failures.length > 0) {
    const history = scenario.model.history.map((event, index) => `${index + 1}. ${event}`).join("\n");
    throw new Error(`${failures.map(String).join("\n")}\n\nWhat happened:\n${history}`, {
      cause: failures[0],
    });
  }
  return scenario.model.figures;
}

class Scenario {
  readonly model = new AdmissionModel();
  readonly #stage: NodesUnderTest;
  readonly #people: Person[] = [];
  readonly #keys: Key[] = [];
  #team: Team | undefined;
  readonly #connections = new Map<string, Connection>();
  /** Serializes steps of the clock and changes that depend on it. */
  #lastByClock: Promise<unknown> = Promise.resolve();
  /** Serializes what the workspace decides about keys. */
  #lastByWorkspace: Promise<unknown> = Promise.resolve();
  #policy: PolicyModel = "none";
  /** The clock after the steps so far, in minutes since the scenario began. */
  #clock = 0;

  constructor(stage: NodesUnderTest) {
    this.#stage = stage;
  }

  /** Creates the workspace, the users and their first keys. */
  async open(): Promise<void> {
    await clearThrottle(this.#stage.db);
    this.#team = await this.#openTeam();
    await Promise.all(
      Array.from({ length: people }, async (_, index) => {
        const baseUrl = this.#baseUrl(index);
        const account = await signUp(baseUrl, `${randomUUID()}@example.com`);
        const user = this.model.addUser(account.email);
        const session = { model: this.model.beginSignIn(user)("done"), cookie: account.cookie };
        const { userId } = await getMembership(baseUrl, account);
        const lastRoleChange = Promise.resolve();
        const person = { model: user, account, userId, session, role: undefined, lastRoleChange };
        this.#people.push(person);
        for (let count = 0; count < keysEach; count += 1) await this.#create(baseUrl, person);
      }),
    );
    // Only the creations of the steps count.
    this.model.figures.creations = 0;
  }

  async perform(step: Step): Promise<void> {
    if (step.kind === "use") return await this.#use(step);
    if (step.kind === "list") return await this.#list(this.#baseUrl(step.node), at(this.#people, step.user));
    if (step.kind === "clock") return await this.#stepClock(step.direction);
    const touched = await this.#performChange(step);
    if (step.isVerified) await Promise.all(touched.map((key) => this.#try(key)));
  }

  /** Returns the affected keys. */
  async #performChange(step: Change): Promise<readonly Key[]> {
    switch (step.kind) {
      case "create":
        return await this.#create(this.#baseUrl(step.node), at(this.#people, step.user));
      case "rename":
        return await this.#rename(this.#baseUrl(step.node), at(this.#keys, step.key));
      case "delete":
        return await this.#delete(this.#baseUrl(step.node), at(this.#keys, step.key));
      case "restrict":
        return await this.#hold(this.#baseUrl(step.node), at(this.#keys, step.key), step.to);
      case "rotate":
        return await this.#rotate(this.#baseUrl(step.node), at(this.#keys, step.key), step.overlap);
      case "end":
        return await this.#revokeOldSecrets(this.#baseUrl(step.node), at(this.#keys, step.key));
      case "role":
        return await this.#setRole(this.#baseUrl(step.node), at(this.#people, step.user), step.role);
      case "block":
        return await this.#block(this.#baseUrl(step.node), at(this.#keys, step.key), step.isBlocked);
      case "makeIdle":
        return await this.#makeIdle(at(this.#keys, step.key));
      case "policy":
        return await this.#setPolicy(this.#baseUrl(step.node), step.policy);
      case "disable":
        return await this.#switch(at(this.#people, step.user), "disable");
      case "enable":
        return await this.#switch(at(this.#people, step.user), "enable");
    }
  }

  /** Checks every counter, including those of deleted keys, in the database. */
  async expectCounts(): Promise<void> {
    const rows = await this.#stage.db
      .selectFrom("key_counters")
      .select(["key_id", "use_count"])
      .where(
        "key_id",
        "in",
        this.#keys.map(({ model }) => keyIdOf(model.id)),
      )
      .execute();
    const counts = new Map(rows.map((row) => [row.key_id, row.use_count]));
    for (const { model } of this.#keys)
      this.model.expectFinalCount(model, counts.get(keyIdOf(model.id)) ?? Number.NaN);
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  async #use(step: Extract<Step, { kind: "use" }>): Promise<void> {
    const connection = this.#connect(this.#baseUrl(step.node), String(step.connection));
    const key = at(this.#keys, step.key);
    const secret = at(key.secrets.toReversed(), step.secret);
    await this.#send(connection, { key, secret, requirement: step.requirement }, step.requests);
  }

  /** Uses each secret of a key for each requirement on each node, over separate connections. */
  async #try(key: Key): Promise<void> {
    await Promise.all(
      this.#stage.baseUrls.flatMap((baseUrl) =>
        key.secrets.flatMap((secret) =>
          ([undefined, "read", "audit"] as const).map((requirement) =>
            this.#send(this.#connect(baseUrl, key.model.id), { key, secret, requirement }, 1),
          ),
        ),
      ),
    );
  }

  async #send(
    connection: Connection,
    use: {
      readonly key: Key;
      readonly secret: Key["secrets"][number];
      readonly requirement: RequirementModel | undefined;
    },
    requests: number,
  ): Promise<void> {
    const { key, secret, requirement } = use;
    const workspace = `/open/workspaces/${this.#team?.workspaceId}`;
    const path = { read: workspace, audit: `${workspace}/audit-events?limit=1` };
    await connection.enqueue(async (ask) => {
      for (let count = 0; count < requests; count += 1) {
        const end = this.model.beginUse(key.model, requirement, secret.model);
        end(outcomeOf(await ask(secret.text, requirement && path[requirement])));
      }
    });
  }

  async #openTeam(): Promise<Team> {
    const baseUrl = this.#baseUrl(0);
    const owner = await signUp(baseUrl, `${randomUUID()}@example.com`);
    const { workspaceId } = await getMembership(baseUrl, owner);
    const settings = { expiresAt: { inSeconds: 20 * 86_400 }, ipRanges: ["127.0.0.0/8", "::/1"] };
    const answer = await call(baseUrl, owner.cookie, "apiKeys.create", { name: "team", settings });
    const { key } = answer.data as CreatedKey; // The router's type for this procedure.
    return { workspaceId, ownerKey: key, cookie: owner.cookie };
  }

  /** Adds a member as the `latchkey` command does; changes and removes members through the open API. */
  async #setRole(baseUrl: string, person: Person, role: RoleModel): Promise<readonly Key[]> {
    const from = person.role;
    person.role = role;
    const turn = person.lastRoleChange.then(async () => {
      if (from === role) return;
      const end = this.model.beginRoleChange(person.model, from, role);
      if (from === undefined)
        await this.#addMember(person, role as Role); // `from` is undefined and differs from `role`.
      else await this.#editMember(baseUrl, person, role);
      end();
    });
    person.lastRoleChange = turn.catch(() => undefined);
    await turn;
    return this.#keys.filter(({ owner }) => owner === person);
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

  async #create(baseUrl: string, person: Person): Promise<readonly Key[]> {
    const made: Key[] = [];
    await this.#edit(baseUrl, person, async (session) => {
      const name = `key ${this.#keys.length}`;
      const end = this.model.beginCreation(session.model, name);
      const answer = await call(baseUrl, session.cookie, "apiKeys.create", { name });
      const outcome = editOutcomeOf(answer);
      const created = answer.data as CreatedKey; // The router's type for this procedure.
      const model = end(outcome === "done" ? created : "rejected");
      const [secret] = model?.secrets ?? [];
      if (model && secret) {
        made.push({
          model,
          owner: person,
          secrets: [{ text: created.key, model: secret }],
          ...{ isBlocked: false, isIdle: false, wasUnblocked: false, isOld: false },
        });
      }
      return outcome;
    });
    this.#keys.push(...made);
    return made;
  }

  async #rename(baseUrl: string, key: Key): Promise<readonly Key[]> {
    const { model, owner } = key;
    await this.#edit(baseUrl, owner, async (session) => {
      const name = `renamed ${randomUUID()}`;
      const end = this.model.beginRenaming(session.model, model, name);
      const input = { id: model.id, name, description: "" };
      const outcome = editOutcomeOf(await call(baseUrl, session.cookie, "apiKeys.update", input));
      end(outcome);
      return outcome;
    });
    return [key];
  }

  async #hold(baseUrl: string, key: Key, to: RestrictionKind): Promise<readonly Key[]> {
    const { model, owner } = key;
    return await this.#byClock(async () => {
      await this.#edit(baseUrl, owner, async (session) => {
        const until = this.#clock + 60;
        const restriction: SettingsModel = to === "expiring" ? { kind: to, until } : { kind: to };
        const end = this.model.beginRestriction(session.model, model, restriction);
        const settings = settingsOf(to, await this.#stage.clock.read());
        const input = { id: model.id, settings, mayWiden: true };
        const outcome = editOutcomeOf(await call(baseUrl, session.cookie, "apiKeys.update", input));
        end(outcome);
        return outcome;
      });
      return [key];
    });
  }

  async #rotate(baseUrl: string, key: Key, overlapSeconds: number): Promise<readonly Key[]> {
    const { model, owner } = key;
    return await this.#byClock(async () => {
      await this.#edit(baseUrl, owner, async (session) => {
        const validUntil =
          overlapSeconds === 0 ? Number.NEGATIVE_INFINITY : this.#clock + overlapSeconds / 60;
        const end = this.model.beginRotation(session.model, model, validUntil);
        const answer = await call(baseUrl, session.cookie, "apiKeys.rotate", {
          id: model.id,
          overlapSeconds,
        });
        const outcome = editOutcomeOf(answer);
        const secret = end(outcome);
        if (secret) key.secrets.push({ text: (answer.data as CreatedKey).key, model: secret }); // The router's type.
        return outcome;
      });
      return [key];
    });
  }

  async #revokeOldSecrets(baseUrl: string, key: Key): Promise<readonly Key[]> {
    const { model, owner } = key;
    return await this.#byClock(async () => {
      await this.#edit(baseUrl, owner, async (session) => {
        const end = this.model.beginEnding(session.model, model);
        const outcome = editOutcomeOf(
          await call(baseUrl, session.cookie, "apiKeys.revokeOldSecrets", { id: model.id }),
        );
        end(outcome);
        return outcome;
      });
      return [key];
    });
  }

  /** Blocks or unblocks a key in the workspace. Unblocking changes only a key that is blocked or rejected as idle. */
  async #block(baseUrl: string, key: Key, isBlocked: boolean): Promise<readonly Key[]> {
    const { model } = key;
    await this.#byWorkspace(async ({ workspaceId, cookie }) => {
      const isRejected = key.isBlocked || (this.#policy === "idle" && key.isIdle);
      const isChange = isBlocked ? !key.isBlocked : isRejected;
      const isStillIdle = key.isIdle && (isBlocked || !isChange);
      const to = {
        isBlocked: isChange ? isBlocked : key.isBlocked,
        age: ageOf({ ...key, isIdle: isStillIdle }),
      };
      const end = this.model.beginWorkspaceChange(model, isBlocked ? "blocks" : "unblocks", to);
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
  async #makeIdle(key: Key): Promise<readonly Key[]> {
    const id = keyIdOf(key.model.id);
    await this.#byWorkspace(async () => {
      key.isOld = true;
      key.isIdle ||= !key.wasUnblocked;
      const to = { isBlocked: key.isBlocked, age: ageOf(key) };
      const end = this.model.beginWorkspaceChange(key.model, "idlePeriods", to);
      await this.#stage.db.transaction().execute(async (trx) => {
        const text = "update api_keys set created_at = now() - interval '100 days' where id = $1";
        await runText(trx, text, [id]);
        await bumpKeyVersions(trx, { keyId: id });
      });
      end(true);
    });
    return [key];
  }

  async #setPolicy(baseUrl: string, to: PolicyModel): Promise<readonly Key[]> {
    await this.#byWorkspace(async ({ workspaceId, cookie }) => {
      const answer = await callProcedure(baseUrl, {
        path: "workspaceKeys.policy",
        kind: "query",
        input: { workspaceId },
        cookie,
      });
      const { version } = answer.data as { readonly version: number }; // The router's type for this procedure.
      const end = this.model.beginPolicy(to);
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
    return this.#keys;
  }

  async #byWorkspace(work: (team: Team) => Promise<void>): Promise<void> {
    const turn = this.#lastByWorkspace.then(async () => {
      if (!this.#team) throw new Error("The workspace doesn't exist yet.");
      await work(this.#team);
    });
    this.#lastByWorkspace = turn.catch(() => undefined);
    await turn;
  }

  async #stepClock(direction: "forward" | "back"): Promise<void> {
    await this.#byClock(async () => {
      const by = clockSteps[direction];
      const end = this.model.beginClockStep(this.#clock + by, direction === "forward");
      await this.#stage.clock.step(by);
      this.#clock += by;
      end();
    });
    // Every node may have cached facts from before the step.
    await Promise.all(this.#keys.map((key) => this.#try(key)));
  }

  async #byClock<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastByClock.then(work);
    this.#lastByClock = turn.catch(() => undefined);
    return await turn;
  }

  async #delete(baseUrl: string, key: Key): Promise<readonly Key[]> {
    const { model, owner } = key;
    await this.#edit(baseUrl, owner, async (session) => {
      const end = this.model.beginDeletion(session.model, model);
      const outcome = editOutcomeOf(await call(baseUrl, session.cookie, "apiKeys.delete", { id: model.id }));
      end(outcome);
      return outcome;
    });
    return [key];
  }

  async #list(baseUrl: string, person: Person): Promise<void> {
    await this.#edit(baseUrl, person, async (session) => {
      const end = this.model.beginListing(session.model);
      const answer = await callProcedure(baseUrl, {
        path: "apiKeys.list",
        kind: "query",
        input: { pageSize: 100 },
        cookie: session.cookie,
      });
      const outcome = editOutcomeOf(answer);
      const listed = answer.data as { readonly items: readonly ListedKey[] }; // The router's type for this procedure.
      end(outcome === "done" ? listed.items : "rejected");
      return outcome;
    });
  }

  /** Runs an attempt with the person's session, and if that has ended, once more with a new session. */
  async #edit(
    baseUrl: string,
    person: Person,
    attempt: (session: Person["session"]) => Promise<EditOutcome>,
  ): Promise<void> {
    if ((await attempt(person.session)) !== "rejected") return;
    await clearThrottle(this.#stage.db);
    const end = this.model.beginSignIn(person.model);
    const answer = await signIn(baseUrl, person.account);
    const outcome = editOutcomeOf(answer);
    const model = end(outcome === "done" ? "done" : "rejected");
    if (outcome !== "done") return;
    person.session = { model, cookie: answer.cookie ?? "" };
    await attempt(person.session);
  }

  /** Does the same as the `latchkey` command, without starting a process. */
  async #switch({ model }: Person, change: "disable" | "enable"): Promise<readonly Key[]> {
    const { db } = this.#stage;
    const user = await findUserByEmail(db, model.email);
    if (!user) throw new Error(`There is no user with the address ${model.email}.`);
    const end = change === "disable" ? this.model.beginDisabling(model) : this.model.beginEnabling(model);
    await db
      .transaction()
      .execute((trx) => (change === "disable" ? disableUser(trx, user.id) : enableUser(trx, user.id)));
    end();
    return this.#keys.filter(({ owner }) => owner.model === model);
  }

  #connect(baseUrl: string, name: string): Connection {
    const connection = this.#connections.get(`${baseUrl} ${name}`) ?? new Connection(baseUrl);
    this.#connections.set(`${baseUrl} ${name}`, connection);
    return connection;
  }

  #baseUrl(node: number): string {
    return at(this.#stage.baseUrls, node);
  }
}

/**
 * Empties the throttle of sign-ins and sign-ups: scenarios have many failed sign-ins of disabled users, and a clock
 * that is set back, and the model doesn't know when those are throttled. Locks the buckets in the order in which an
 * attempt locks them, so that the two can't deadlock.
 */
async function clearThrottle(db: Db): Promise<void> {
  const locked = "select digest from throttle_buckets order by digest for update";
  await runText(db, `delete from throttle_buckets where digest in (${locked})`, []);
}

function ageOf({ isIdle, isOld }: Pick<Key, "isIdle" | "isOld">): AgeModel {
  if (isIdle) return "idle";
  return isOld ? "old" : "new";
}

/** The settings as the web app sends them. @param now by the database's clock. */
function settingsOf(to: RestrictionKind, now: Date): object {
  return {
    isDisabled: to === "disabled",
    ipRanges: to === "other-ip-range" ? ["203.0.113.0/24"] : null,
    permissions: to === "read-only" ? ["workspace:read"] : null,
    limit: to === "limited" ? { quota, windowSeconds: 3_600 } : null,
    expiresAt: to === "expiring" ? new Date(now.getTime() + 3_600_000).toISOString() : null,
  };
}

function outcomeOf(status: number | undefined): UseOutcome {
  if (status === 200) return "admitted";
  if (status === 403) return "rejected";
  if (status === 429) return "limited";
  if (status === 503 || status === undefined) return "unknown";
  throw new Error(`A use returned ${status}.`);
}

function editOutcomeOf({ status, code }: Answer): EditOutcome {
  if (status === 200) return "done";
  if (code === "UNAUTHORIZED" || code === "FORBIDDEN") return "rejected";
  if (code === "NOT_FOUND") return "missing";
  throw new Error(`An edit returned ${status} ${code}.`);
}

async function call(baseUrl: string, cookie: string, path: string, input: unknown): Promise<Answer> {
  return await callProcedure(baseUrl, { path, kind: "mutation", input, cookie });
}

function keyIdOf(id: string): KeyId {
  const decoded = decodeId("key", id);
  if (!decoded) throw new Error(`Not the ID of a key: ${id}`);
  return decoded;
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("The list is empty.");
  return item;
}
