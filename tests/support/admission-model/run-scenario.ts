import { randomUUID } from "node:crypto";
import { disableUser, enableUser, findUserByEmail } from "@latchkey/db/users";
import { signUp } from "../account.ts";
import { getMembership } from "../membership.ts";
import { Connection } from "./connection.ts";
import type { RequirementModel } from "./key-restrictions.ts";
import { KeySteps } from "./key-steps.ts";
import { AdmissionModel, type UseOutcome } from "./model.ts";
import type { ScenarioCounts } from "./scenario-counts.ts";
import {
  at,
  clearThrottle,
  type Key,
  keyIdOf,
  type NodesUnderTest,
  type Person,
  type Stage,
} from "./stage.ts";
import type { Step } from "./steps.ts";
import { WorkspaceSteps } from "./workspace-steps.ts";

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
  readonly #stage: Stage;
  readonly #people: Person[] = [];
  readonly #keys: Key[] = [];
  readonly #keySteps: KeySteps;
  readonly #workspaceSteps: WorkspaceSteps;
  readonly #connections = new Map<string, Connection>();

  constructor(nodes: NodesUnderTest) {
    this.#stage = { ...nodes, model: this.model, keys: this.#keys };
    this.#keySteps = new KeySteps(this.#stage);
    this.#workspaceSteps = new WorkspaceSteps(this.#stage);
  }

  /** Creates the workspace, the users and their first keys. */
  async open(): Promise<void> {
    await clearThrottle(this.#stage.db);
    await this.#workspaceSteps.open(this.#baseUrl(0));
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
        for (let count = 0; count < keysEach; count += 1) await this.#keySteps.create(baseUrl, person);
      }),
    );
    // Only the creations of the steps count.
    this.model.figures.creations = 0;
  }

  async perform(step: Step): Promise<void> {
    if (step.kind === "use") return await this.#use(step);
    if (step.kind === "list")
      return await this.#keySteps.list(this.#baseUrl(step.node), at(this.#people, step.user));
    if (step.kind === "clock") {
      await this.#keySteps.stepClock(step.direction);
      // Every node may have cached facts from before the step.
      await Promise.all(this.#keys.map((key) => this.#try(key)));
      return;
    }
    const touched = await this.#performChange(step);
    if (step.isVerified) await Promise.all(touched.map((key) => this.#try(key)));
  }

  /** Returns the affected keys. */
  async #performChange(step: Change): Promise<readonly Key[]> {
    switch (step.kind) {
      case "create":
        return await this.#keySteps.create(this.#baseUrl(step.node), at(this.#people, step.user));
      case "rename":
        return await this.#keySteps.rename(this.#baseUrl(step.node), at(this.#keys, step.key));
      case "delete":
        return await this.#keySteps.delete(this.#baseUrl(step.node), at(this.#keys, step.key));
      case "restrict":
        return await this.#keySteps.restrict(this.#baseUrl(step.node), at(this.#keys, step.key), step.to);
      case "rotate":
        return await this.#keySteps.rotate(this.#baseUrl(step.node), at(this.#keys, step.key), step.overlap);
      case "revoke":
        return await this.#keySteps.revokeOldSecrets(this.#baseUrl(step.node), at(this.#keys, step.key));
      case "role":
        return await this.#workspaceSteps.setRole(
          this.#baseUrl(step.node),
          at(this.#people, step.user),
          step.role,
        );
      case "block":
        return await this.#workspaceSteps.block(
          this.#baseUrl(step.node),
          at(this.#keys, step.key),
          step.isBlocked,
        );
      case "makeIdle":
        return await this.#workspaceSteps.makeIdle(at(this.#keys, step.key));
      case "policy":
        return await this.#workspaceSteps.setPolicy(this.#baseUrl(step.node), step.policy);
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
    const workspace = `/open/workspaces/${this.#workspaceSteps.workspaceId}`;
    const path = { read: workspace, audit: `${workspace}/audit-events?limit=1` };
    await connection.enqueue(async (ask) => {
      for (let count = 0; count < requests; count += 1) {
        const end = this.model.beginUse(key.model, requirement, secret.model);
        end(outcomeOf(await ask(secret.text, requirement && path[requirement])));
      }
    });
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

function outcomeOf(status: number | undefined): UseOutcome {
  if (status === 200) return "admitted";
  if (status === 403) return "rejected";
  if (status === 429) return "limited";
  if (status === 503 || status === undefined) return "unknown";
  throw new Error(`A use returned ${status}.`);
}
