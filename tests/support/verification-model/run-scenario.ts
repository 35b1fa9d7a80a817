import { randomUUID } from "node:crypto";
import { callApi, issuedKeyUuid, pathOf, usesOfIssuedKeys } from "../keyspace.ts";
import { changeKey } from "./change-key.ts";
import { type AnswerModel, answer, type KeyModel, removeFormer, type VerificationModel } from "./model.ts";
import { externalId, ScenarioKeyspaces, type Stage } from "./scenario-keyspaces.ts";
import { expectSame, sendVerifications, type VerificationRequest } from "./send.ts";
import type { Step, VerificationStep } from "./steps.ts";

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
  readonly #keyspaces: ScenarioKeyspaces;
  #named: NamedRequest | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#keyspaces = new ScenarioKeyspaces(stage);
  }

  async open(): Promise<void> {
    await this.#keyspaces.open();
    this.#named = undefined;
  }

  async close(): Promise<void> {
    await this.#keyspaces.close();
  }

  /** Deletes both keyspaces on a node, and expects each time that no node finds their keys, the other one first. */
  async deleteKeyspaces(node = 0): Promise<void> {
    await this.#keyspaces.switchCaller(false);
    await this.#keyspaces.switchWorkspace(false);
    const nodes = [this.#keyspaces.at(node + 1), this.#keyspaces.at(node)];
    for (const keyspace of [this.#keyspaces.keyspace, this.#keyspaces.other]) {
      const at = this.#keyspaces.at(node, keyspace);
      await callApi(at, ["DELETE", pathOf(at)]);
      for (const { model } of this.#keyspaces.keys)
        if (model.isElsewhere === (keyspace === this.#keyspaces.other)) model.isDeleted = true;
      const steps = this.#keyspaces.keys.map((_, key) => ({ ...presentation, key, cost: 0 }));
      const request = { verifications: steps.map((step) => this.#keyspaces.toBody(step)) };
      const now = (await this.#stage.clock.read()).getTime();
      const models = steps.map((step) => this.#keyspaces.toModel(step));
      for (const { baseUrl } of nodes) {
        const caller = { ...at, baseUrl, callerKey: this.#stage.callerKey };
        expectSame(await sendVerifications(caller, request), answer(models, this.#keyspaces.state(now)));
      }
    }
    this.#keyspaces.keyspace = undefined;
    this.#keyspaces.other = undefined;
  }

  async perform(step: Step): Promise<void> {
    const now = (await this.#stage.clock.read()).getTime();
    this.history.push(`${new Date(now).toISOString()} ${JSON.stringify(step)}`);
    if (this.#keyspaces.isWorkspaceDisabled && !readingKinds.has(step.kind)) return;
    switch (step.kind) {
      case "clock":
        return await this.#stage.clock.step(
          step.minutes === "midnight" ? minutesPastMidnight(now) : step.minutes,
        );
      case "caller":
        return await this.#keyspaces.switchCaller(step.isDisabled);
      case "workspace":
        return await this.#keyspaces.switchWorkspace(step.isDisabled);
      case "deleteKeyspace":
        await this.expectCounts();
        await this.deleteKeyspaces(step.node);
        return await this.open();
      case "keyspace":
        await callApi(this.#keyspaces.at(step.node), ["PATCH", pathOf(this.#keyspaces.at(step.node))], {
          isDisabled: step.isDisabled,
        });
        this.#keyspaces.isKeyspaceDisabled = step.isDisabled;
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
        const key = this.#keyspaces.key(step.key);
        const node = this.#keyspaces.at(
          step.node,
          key.model.isElsewhere ? this.#keyspaces.other : this.#keyspaces.keyspace,
        );
        if (!key.model.isDeleted) await changeKey(key, step, { node, now });
      }
    }
  }

  /** Expects that each valid verification with a cost was counted as a use. */
  async expectCounts(): Promise<void> {
    for (const { id, model } of this.#keyspaces.keys) {
      if (model.isDeleted) continue;
      const { rows } = await this.#stage.client.query<{ uses: number }>(
        `select uses from (${usesOfIssuedKeys}) counted where key_id = $1`,
        [issuedKeyUuid(id)],
      );
      expectSame(rows[0]?.uses, model.uses);
    }
  }

  async #verify({ node, verifications, isNamed }: StepOf<"verify">, now: number): Promise<void> {
    const models = verifications.map((one) => this.#keyspaces.toModel(one));
    const request = {
      verifications: verifications.map((one) => this.#keyspaces.toBody(one)),
      idempotencyKey: isNamed ? randomUUID() : undefined,
    };
    const spent: (KeyModel | undefined)[] = [];
    if (isNamed) this.#named = { request, verifications: models, spent };
    const expected = answer(models, this.#keyspaces.state(now), isNamed ? spent : undefined);
    await this.#expectAnswer(node, request, expected);
  }

  /** Sends the latest request with an `Idempotency-Key` again, which spends only what it has not spent. */
  async #retry({ node }: StepOf<"retry">, now: number): Promise<void> {
    if (!this.#named) return;
    const { request, verifications, spent } = this.#named;
    await this.#expectAnswer(node, request, answer(verifications, this.#keyspaces.state(now), spent));
  }

  /** The same requests have the same results in any order. */
  async #burst({ key, cost, count }: StepOf<"burst">, now: number): Promise<void> {
    const step = { ...presentation, key, cost };
    const model = this.#keyspaces.toModel(step);
    const expected = Array.from({ length: count }, () => answer([model], this.#keyspaces.state(now)));
    const request = { verifications: [this.#keyspaces.toBody(step)] };
    const found = await Promise.all(Array.from({ length: count }, (_, node) => this.#send(node, request)));
    const sorted = (all: readonly AnswerModel[]) => all.map((one) => JSON.stringify(one)).sort();
    expectSame(sorted(found), sorted(expected));
    for (const one of found) this.#count(one);
  }

  async #expectAnswer(node: number, request: VerificationRequest, expected: AnswerModel): Promise<void> {
    const found = await this.#send(node, request);
    expectSame(found, expected);
    this.#count(found);
  }

  /** Sends a request as the member. */
  async #send(node: number, request: VerificationRequest): Promise<AnswerModel> {
    return await sendVerifications(
      { ...this.#keyspaces.at(node), callerKey: this.#stage.callerKey },
      request,
    );
  }

  async #changeSeveral({ node, action, keys: chosen }: StepOf<"bulk">): Promise<void> {
    const keys = chosen
      ? [...new Set(chosen.map((key) => this.#keyspaces.key(key)))].filter(({ model }) => !model.isElsewhere)
      : this.#keyspaces.keys.filter(({ model }) => model.consumer && !model.isDeleted);
    if (keys.length === 0 && chosen) return;
    const result = await callApi<Record<"changed" | "unchanged" | "notFound", string[]>>(
      this.#keyspaces.at(node),
      ["POST", `${pathOf(this.#keyspaces.at(node))}/keys/bulk`],
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
    this.#keyspaces.consumer.limits = quota ? [{ name: "shared", quota, appliesAlways: true }] : [];
    removeFormer(this.#keyspaces.consumer.counter, this.#keyspaces.consumer.limits);
    await callApi(
      this.#keyspaces.at(node),
      ["PATCH", `${pathOf(this.#keyspaces.at(node))}/consumers/${externalId}`],
      {
        limits: this.#keyspaces.consumer.limits.map((limit) => ({ ...limit, windowSeconds: 3_600 })),
      },
    );
  }

  #count(found: AnswerModel): void {
    const codes = typeof found === "string" ? [found] : found.map(({ code }) => code);
    for (const code of codes) this.counts[code] = (this.counts[code] ?? 0) + 1;
  }
}
