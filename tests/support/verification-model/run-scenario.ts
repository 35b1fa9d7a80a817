import { randomUUID } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { disableUser, enableUser } from "@latchkey/db/users";
import type pg from "pg";
import {
  callApi,
  type IssuedKey,
  issuedKeyUuid,
  issueKey,
  type Keyspace,
  pathOf,
  usesOfIssuedKeys,
} from "../keyspace.ts";
import type { SteppedClock } from "../stepped-clock.ts";
import { addresses, changeKey, permissionsOf, queries, type ScenarioKey } from "./change-key.ts";
import {
  type AnswerModel,
  answer,
  type ConsumerModel,
  createCounter,
  type KeyModel,
  removeFormer,
  type StateModel,
  type VerificationModel,
} from "./model.ts";
import { expectSame, sendVerifications, type VerificationRequest } from "./send.ts";
import type { Step, VerificationStep } from "./steps.ts";

/** The nodes under test, and their database. */
export interface Stage {
  readonly baseUrls: readonly string[];
  /** The API key of the owner of both workspaces, who changes keys. */
  readonly ownerKey: string;
  /** The API key of a member, who verifies keys and is sometimes disabled. */
  readonly callerKey: string;
  readonly callerId: UserId;
  readonly workspaceId: string;
  readonly otherWorkspaceId: string;
  readonly client: pg.Client;
  readonly db: Db;
  readonly clock: SteppedClock;
  /** Imports a key with the secret of another one, and returns its ID. */
  readonly importSecret: (keyspace: Keyspace, secret: string) => Promise<string>;
  /** Disables or enables the workspace with the `latchkey` command. */
  readonly disableWorkspace: (isDisabled: boolean) => Promise<void>;
}

type StepOf<Kind extends Step["kind"]> = Extract<Step, { readonly kind: Kind }>;

/** How often each code, or error, was returned and checked. */
export type CodeCounts = Record<string, number>;

/** A request with an `Idempotency-Key`. */
interface NamedRequest {
  readonly request: VerificationRequest;
  readonly verifications: readonly VerificationModel[];
  readonly spent: (KeyModel | undefined)[];
}

/** The steps that change nothing in the workspace, which is allowed while it is disabled. */
const readingKinds: ReadonlySet<Step["kind"]> = new Set([
  "verify",
  "retry",
  "burst",
  "caller",
  "clock",
  "workspace",
]);
const externalId = "customer";
/** A verification of the current secret. */
const presentation = {
  secret: 0,
  place: undefined,
  query: "write",
  address: "inside",
  limit: undefined,
} as const satisfies Partial<VerificationStep>;
const minuteMs = 60_000;
const dayMs = 86_400_000;

/** The minutes to three minutes after a midnight before which every window has ended. */
function minutesPastMidnight(now: number): number {
  return (Math.ceil((now + 121 * minuteMs) / dayMs) * dayMs + 3 * minuteMs - now) / minuteMs;
}

/**
 * Performs the steps, each after the one before it, and compares each response with the model.
 * @returns how often each code was returned.
 * @throws an Error with the history if a response differs, or a count.
 */
export async function runScenario(stage: Stage, steps: readonly Step[]): Promise<CodeCounts> {
  const scenario = new Scenario(stage);
  try {
    await scenario.open();
    for (const step of steps) await scenario.perform(step);
    await scenario.expectCounts();
    await scenario.deleteKeyspaces();
  } catch (error) {
    throw new Error(`${error}\n\nWhat happened:\n${scenario.history.join("\n")}`, { cause: error });
  } finally {
    await scenario.close();
  }
  return scenario.counts;
}

class Scenario {
  readonly history: string[] = [];
  readonly counts: CodeCounts = {};
  readonly #stage: Stage;
  #keys: ScenarioKey[] = [];
  #consumer: ConsumerModel = { counter: createCounter(null, 0), limits: [] };
  #keyspace: Keyspace | undefined;
  /** The keyspace of the other workspace. */
  #other: Keyspace | undefined;
  #isKeyspaceDisabled = false;
  #isWorkspaceDisabled = false;
  #isCallerDisabled = false;
  #named: NamedRequest | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /**
   * Creates a keyspace with two keys of a consumer, and a third one. A key with the secret of the third one is imported into a
   * keyspace of the other workspace.
   */
  async open(): Promise<void> {
    const { workspaceId, otherWorkspaceId, importSecret } = this.#stage;
    this.#keyspace = await this.#createKeyspace(workspaceId);
    this.#other = await this.#createKeyspace(otherWorkspaceId);
    this.#isKeyspaceDisabled = false;
    this.#keys = [];
    this.#consumer = { counter: createCounter(null, 0), limits: [] };
    this.#named = undefined;
    for (const consumer of [externalId, externalId, null]) {
      const issued: IssuedKey = await issueKey(this.#keyspace, {
        externalId: consumer,
        permissions: permissionsOf.documents,
      });
      this.#keys.push({
        id: issued.id,
        secrets: [issued.key],
        model: { ...newKey(), consumer: consumer === null ? undefined : this.#consumer },
      });
    }
    const secret = this.#keys.at(-1)?.secrets[0] ?? "";
    const id = await importSecret(this.#other, secret);
    // A retry can't replace the secret of an imported key.
    const model = { ...newKey(), consumer: undefined, isElsewhere: true, hasUnusedSecret: false };
    this.#keys.push({ id, secrets: [secret], model });
  }

  async #createKeyspace(workspaceId: string): Promise<Keyspace> {
    const { baseUrls, ownerKey } = this.#stage;
    const owner = { baseUrl: baseUrls[0] ?? "", callerKey: ownerKey };
    const { id } = await callApi<{ id: string }>(owner, ["POST", `/workspaces/${workspaceId}/keyspaces`], {
      name: `Scenario ${randomUUID()}`,
      prefix: "acme",
    });
    return { ...owner, workspaceId, id };
  }

  async close(): Promise<void> {
    await this.#switchCaller(false);
    await this.#switchWorkspace(false);
    const keyspaces = [this.#keyspace, this.#other];
    this.#keyspace = undefined;
    this.#other = undefined;
    for (const keyspace of keyspaces) if (keyspace) await callApi(keyspace, ["DELETE", pathOf(keyspace)]);
  }

  /** Deletes both keyspaces on a node, and expects each time that no node finds their keys, the other one first. */
  async deleteKeyspaces(node = 0): Promise<void> {
    await this.#switchCaller(false);
    await this.#switchWorkspace(false);
    const nodes = [this.#at(node + 1), this.#at(node)];
    for (const keyspace of [this.#keyspace, this.#other]) {
      const at = this.#at(node, keyspace);
      await callApi(at, ["DELETE", pathOf(at)]);
      for (const { model } of this.#keys)
        if (model.isElsewhere === (keyspace === this.#other)) model.isDeleted = true;
      const steps = this.#keys.map((_, key) => ({ ...presentation, key, cost: 0 }));
      const request = { verifications: steps.map((step) => this.#toBody(step)) };
      const now = (await this.#stage.clock.read()).getTime();
      const models = steps.map((step) => this.#toModel(step));
      for (const { baseUrl } of nodes) {
        const caller = { ...at, baseUrl, callerKey: this.#stage.callerKey };
        expectSame(await sendVerifications(caller, request), answer(models, this.#state(now)));
      }
    }
    this.#keyspace = undefined;
    this.#other = undefined;
  }

  async perform(step: Step): Promise<void> {
    const now = (await this.#stage.clock.read()).getTime();
    this.history.push(`${new Date(now).toISOString()} ${JSON.stringify(step)}`);
    if (this.#isWorkspaceDisabled && !readingKinds.has(step.kind)) return;
    switch (step.kind) {
      case "clock":
        return await this.#stage.clock.step(
          step.minutes === "midnight" ? minutesPastMidnight(now) : step.minutes,
        );
      case "caller":
        return await this.#switchCaller(step.isDisabled);
      case "workspace":
        return await this.#switchWorkspace(step.isDisabled);
      case "deleteKeyspace":
        await this.expectCounts();
        await this.deleteKeyspaces(step.node);
        return await this.open();
      case "keyspace":
        await callApi(this.#at(step.node), ["PATCH", pathOf(this.#at(step.node))], {
          isDisabled: step.isDisabled,
        });
        this.#isKeyspaceDisabled = step.isDisabled;
        return;
      case "consumer":
        return await this.#changeConsumer(step);
      case "bulk":
        return await this.#changeSeveral(step);
      case "verify":
        return await this.#verify(step, now);
      case "retry":
        return await this.#retry(step, now);
      case "burst":
        return await this.#burst(step, now);
      default: {
        const key = this.#key(step.key);
        const node = this.#at(step.node, key.model.isElsewhere ? this.#other : this.#keyspace);
        if (!key.model.isDeleted) await changeKey(key, step, { node, now });
      }
    }
  }

  /** Expects that each valid verification with a cost was counted as a use. */
  async expectCounts(): Promise<void> {
    for (const { id, model } of this.#keys) {
      if (model.isDeleted) continue;
      const { rows } = await this.#stage.client.query<{ uses: number }>(
        `select uses from (${usesOfIssuedKeys}) counted where key_id = $1`,
        [issuedKeyUuid(id)],
      );
      expectSame(rows[0]?.uses, model.uses);
    }
  }

  async #verify({ node, verifications, isNamed }: StepOf<"verify">, now: number): Promise<void> {
    const models = verifications.map((one) => this.#toModel(one));
    const request = {
      verifications: verifications.map((one) => this.#toBody(one)),
      idempotencyKey: isNamed ? randomUUID() : undefined,
    };
    const spent: (KeyModel | undefined)[] = [];
    if (isNamed) this.#named = { request, verifications: models, spent };
    const expected = answer(models, this.#state(now), isNamed ? spent : undefined);
    await this.#expectAnswer(node, request, expected);
  }

  /** Sends the latest request with an `Idempotency-Key` again, which spends only what it has not spent. */
  async #retry({ node }: StepOf<"retry">, now: number): Promise<void> {
    if (!this.#named) return;
    const { request, verifications, spent } = this.#named;
    await this.#expectAnswer(node, request, answer(verifications, this.#state(now), spent));
  }

  /** The same requests have the same results in any order. */
  async #burst({ key, cost, count }: StepOf<"burst">, now: number): Promise<void> {
    const step = { ...presentation, key, cost };
    const model = this.#toModel(step);
    const expected = Array.from({ length: count }, () => answer([model], this.#state(now)));
    const request = { verifications: [this.#toBody(step)] };
    const found = await Promise.all(Array.from({ length: count }, (_, node) => this.#send(node, request)));
    const sorted = (all: readonly AnswerModel[]) => all.map((one) => JSON.stringify(one)).sort();
    expectSame(sorted(found), sorted(expected));
    for (const one of found) this.#count(one);
  }

  #state(now: number): StateModel {
    return {
      now,
      isKeyspaceUsable: !this.#isKeyspaceDisabled && !this.#isWorkspaceDisabled,
      isCallerDisabled: this.#isCallerDisabled,
    };
  }

  #toModel({ place, cost, query, address, limit, ...presented }: VerificationStep): VerificationModel {
    const secret = this.#secretOf(presented);
    const copies = this.#keys.flatMap(({ model, secrets }) => {
      const isInPlace = place === undefined || model.isElsewhere === (place === "other");
      return isInPlace && secrets.includes(secret) ? [{ key: model, secret: secrets.indexOf(secret) }] : [];
    });
    return { copies, cost, query, address, limit };
  }

  #secretOf({ key, secret }: Pick<VerificationStep, "key" | "secret">): string {
    const { secrets } = this.#key(key);
    return secrets[Math.max(0, secrets.length - 1 - secret)] ?? "";
  }

  #toBody(step: VerificationStep): object {
    const { place, cost, query, address, limit } = step;
    const { workspaceId, otherWorkspaceId } = this.#stage;
    return {
      key: this.#secretOf(step),
      ...(place ? { workspaceId: place === "own" ? workspaceId : otherWorkspaceId } : {}),
      cost,
      permissions: queries[query],
      ...(address ? { clientIp: addresses[address] } : {}),
      ...(limit ? { limits: [limit] } : {}),
    };
  }

  async #expectAnswer(node: number, request: VerificationRequest, expected: AnswerModel): Promise<void> {
    const found = await this.#send(node, request);
    expectSame(found, expected);
    this.#count(found);
  }

  /** Sends a request as the member. */
  async #send(node: number, request: VerificationRequest): Promise<AnswerModel> {
    return await sendVerifications({ ...this.#at(node), callerKey: this.#stage.callerKey }, request);
  }

  async #changeSeveral({ node, action, keys: chosen }: StepOf<"bulk">): Promise<void> {
    const keys = chosen
      ? [...new Set(chosen.map((key) => this.#key(key)))].filter(({ model }) => !model.isElsewhere)
      : this.#keys.filter(({ model }) => model.consumer && !model.isDeleted);
    if (keys.length === 0 && chosen) return;
    const result = await callApi<Record<"changed" | "unchanged" | "notFound", string[]>>(
      this.#at(node),
      ["POST", `${pathOf(this.#at(node))}/keys/bulk`],
      { action, ...(chosen ? { keyIds: keys.map(({ id }) => id) } : { externalId }) },
    );
    const idsOf = (matches: (model: KeyModel) => boolean) =>
      keys.filter(({ model }) => matches(model)).map(({ id }) => id);
    const isAffected = ({ isDeleted, isDisabled }: KeyModel) =>
      !isDeleted && (action === "delete" || isDisabled === (action === "enable"));
    const expected = {
      changed: idsOf(isAffected),
      unchanged: idsOf((model) => !model.isDeleted && !isAffected(model)),
      notFound: idsOf(({ isDeleted }) => isDeleted),
    };
    for (const name of ["changed", "unchanged", "notFound"] as const)
      expectSame(result[name].sort(), expected[name].sort());
    for (const { model } of keys) {
      if (action === "delete") model.isDeleted = true;
      else model.isDisabled = action === "disable";
    }
  }

  async #changeConsumer({ node, quota }: StepOf<"consumer">): Promise<void> {
    this.#consumer.limits = quota ? [{ name: "shared", quota, appliesAlways: true }] : [];
    removeFormer(this.#consumer.counter, this.#consumer.limits);
    await callApi(this.#at(node), ["PATCH", `${pathOf(this.#at(node))}/consumers/${externalId}`], {
      limits: this.#consumer.limits.map((limit) => ({ ...limit, windowSeconds: 3_600 })),
    });
  }

  /** Disables or enables the member as the `latchkey` command does, without starting a process. */
  async #switchCaller(isDisabled: boolean): Promise<void> {
    const { db, callerId } = this.#stage;
    const change = isDisabled ? disableUser : enableUser;
    await db.transaction().execute((trx) => change(trx, callerId));
    this.#isCallerDisabled = isDisabled;
  }

  async #switchWorkspace(isDisabled: boolean): Promise<void> {
    if (isDisabled === this.#isWorkspaceDisabled) return;
    await this.#stage.disableWorkspace(isDisabled);
    this.#isWorkspaceDisabled = isDisabled;
  }

  #count(found: AnswerModel): void {
    const codes = typeof found === "string" ? [found] : found.map(({ code }) => code);
    for (const code of codes) this.counts[code] = (this.counts[code] ?? 0) + 1;
  }

  #key(number: number): ScenarioKey {
    return this.#keys[number % this.#keys.length] as ScenarioKey; // There are four.
  }

  /** A keyspace on one of the nodes, for the owner. */
  #at(node: number, keyspace = this.#keyspace): Keyspace {
    const { baseUrls } = this.#stage;
    if (!keyspace) throw new Error("The scenario has no keyspace.");
    return { ...keyspace, baseUrl: baseUrls[node % baseUrls.length] ?? "" };
  }
}

/** A new key without a consumer in the keyspace. */
function newKey() {
  return {
    counter: createCounter(null, 0),
    isElsewhere: false,
    isDeleted: false,
    isDisabled: false,
    expiresAt: null,
    hasIpRange: false,
    permissions: "documents",
    limits: [],
    refill: null,
    validUntil: [Number.POSITIVE_INFINITY],
    hasUnusedSecret: true,
    uses: 0,
  } satisfies Omit<KeyModel, "consumer">;
}
