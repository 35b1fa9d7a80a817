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
  type StateModel,
  type VerificationModel,
} from "./model.ts";
import { expectSame, sendVerifications, type VerificationRequest } from "./send.ts";
import type { Step, VerificationStep } from "./steps.ts";

/** The nodes under test, and their database. */
export interface Stage {
  readonly baseUrls: readonly string[];
  /** The API key of the owner, who changes keys. */
  readonly ownerKey: string;
  /** The API key of a member, who verifies keys and is sometimes disabled. */
  readonly callerKey: string;
  readonly callerId: UserId;
  readonly workspaceId: string;
  readonly client: pg.Client;
  readonly db: Db;
  readonly clock: SteppedClock;
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
    await scenario.deleteKeyspace();
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
  #isKeyspaceDisabled = false;
  #isWorkspaceDisabled = false;
  #isCallerDisabled = false;
  #named: NamedRequest | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Creates a keyspace with two keys of a consumer, and a third one. */
  async open(): Promise<void> {
    const { baseUrls, ownerKey, workspaceId } = this.#stage;
    const owner = { baseUrl: baseUrls[0] ?? "", callerKey: ownerKey };
    const { id } = await callApi<{ id: string }>(owner, ["POST", `/workspaces/${workspaceId}/keyspaces`], {
      name: `Scenario ${randomUUID()}`,
      prefix: "acme",
    });
    this.#keyspace = { ...owner, workspaceId, id };
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
        model: {
          counter: createCounter(null, 0),
          consumer: consumer === null ? undefined : this.#consumer,
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
        },
      });
    }
  }

  async close(): Promise<void> {
    await this.#switchCaller(false);
    await this.#switchWorkspace(false);
    const keyspace = this.#keyspace;
    this.#keyspace = undefined;
    if (keyspace) await callApi(keyspace, ["DELETE", pathOf(keyspace)]);
  }

  /** Deletes the keyspace on a node, and expects that no node finds its keys, the other one first. */
  async deleteKeyspace(node = 0): Promise<void> {
    const nodes = [this.#at(node + 1), this.#at(node)];
    this.#keyspace = this.#at(node);
    await this.close();
    const notFound = { code: "NOT_FOUND", credits: null, limits: [] };
    for (const node of nodes) {
      const verifications = this.#keys.map(({ secrets }) => ({ key: secrets.at(-1) }));
      const caller = { ...node, callerKey: this.#stage.callerKey };
      expectSame(
        await sendVerifications(caller, { verifications }),
        verifications.map(() => notFound),
      );
    }
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
        await this.deleteKeyspace(step.node);
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
        if (!key.model.isDeleted) await changeKey(key, step, { node: this.#at(step.node), now });
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
      verifications: verifications.map((one, index) => this.#toBody(one, models[index])),
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
    const step = { key, secret: 0, cost, query: "write", address: "inside", limit: undefined } as const;
    const model = this.#toModel(step);
    const expected = Array.from({ length: count }, () => answer([model], this.#state(now)));
    const request = { verifications: [this.#toBody(step, model)] };
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

  #toModel({ key, secret, ...step }: VerificationStep): VerificationModel {
    const { model, secrets } = this.#key(key);
    return { ...step, key: model, secret: Math.max(0, secrets.length - 1 - secret) };
  }

  #toBody(step: VerificationStep, model: VerificationModel | undefined): object {
    const { key, cost, query, address, limit } = step;
    return {
      key: this.#key(key).secrets[model?.secret ?? 0],
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
      ? [...new Set(chosen.map((key) => this.#key(key)))]
      : this.#keys.filter(({ model }) => model.consumer && !model.isDeleted);
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
    return this.#keys[number % this.#keys.length] as ScenarioKey; // There are three.
  }

  /** The keyspace on one of the nodes, for the owner. */
  #at(node: number): Keyspace {
    const { baseUrls } = this.#stage;
    if (!this.#keyspace) throw new Error("The scenario has no keyspace.");
    return { ...this.#keyspace, baseUrl: baseUrls[node % baseUrls.length] ?? "" };
  }
}
