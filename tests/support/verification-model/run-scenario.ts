import { randomUUID } from "node:crypto";
import { decodeId } from "@latchkey/db/ids";
import type pg from "pg";
import { callApi, type IssuedKey, issuedKeyUuid, issueKey, type Keyspace, pathOf } from "../keyspace.ts";
import type { SteppedClock } from "../stepped-clock.ts";
import {
  type ConsumerModel,
  createCounter,
  type KeyModel,
  type ResultModel,
  toFiveMinutes,
  type VerificationModel,
  verify,
} from "./model.ts";
import type { Step } from "./steps.ts";

/** The nodes under test, and their database. */
export interface Stage {
  readonly baseUrls: readonly string[];
  readonly callerKey: string;
  readonly workspaceId: string;
  readonly client: pg.Client;
  readonly clock: SteppedClock;
}

interface Key {
  readonly model: KeyModel;
  readonly id: string;
  /** In order of creation. */
  readonly secrets: string[];
}

/** How often each code was returned and checked. */
export type CodeCounts = Record<string, number>;

const hourMs = 3_600_000;

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
  readonly #keys: Key[] = [];
  readonly #consumer: ConsumerModel = { counter: createCounter(null, 0), limits: [] };
  #keyspace: Keyspace | undefined;
  #isKeyspaceDisabled = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Creates a keyspace with two keys of a consumer, and a third one. */
  async open(): Promise<void> {
    const { baseUrls, callerKey, workspaceId } = this.#stage;
    const caller = { baseUrl: baseUrls[0] ?? "", callerKey };
    const { id } = await callApi<{ id: string }>(caller, ["POST", `/workspaces/${workspaceId}/keyspaces`], {
      name: `Scenario ${randomUUID()}`,
      prefix: "acme",
    });
    this.#keyspace = { ...caller, workspaceId, id };
    for (const externalId of ["customer", "customer", null]) {
      const issued: IssuedKey = await issueKey(this.#keyspace, { externalId, permissions: ["documents.*"] });
      this.#keys.push({
        id: issued.id,
        secrets: [issued.key],
        model: {
          counter: createCounter(null, 0),
          consumer: externalId === null ? undefined : this.#consumer,
          isDeleted: false,
          isDisabled: false,
          expiresAt: null,
          limits: [],
          refill: null,
          validUntil: [Number.POSITIVE_INFINITY],
          hasUnusedSecret: false,
          uses: 0,
        },
      });
    }
  }

  async close(): Promise<void> {
    const keyspace = this.#keyspace;
    this.#keyspace = undefined;
    if (keyspace) await callApi(keyspace, ["DELETE", pathOf(keyspace)]);
  }

  /** Deletes the keyspace, and expects that no node finds its keys. */
  async deleteKeyspace(): Promise<void> {
    const nodes = [this.#at(0), this.#at(1)];
    await this.close();
    for (const node of nodes)
      for (const { secrets } of this.#keys)
        expectSame((await send(node, { key: secrets.at(-1) })).code, "NOT_FOUND");
  }

  async perform(step: Step): Promise<void> {
    const now = (await this.#stage.clock.read()).getTime();
    this.history.push(`${new Date(now).toISOString()} ${JSON.stringify(step)}`);
    switch (step.kind) {
      case "clock":
        return await this.#stage.clock.step(step.minutes);
      case "keyspace":
        await callApi(this.#at(step.node), ["PATCH", pathOf(this.#at(step.node))], {
          isDisabled: step.isDisabled,
        });
        this.#isKeyspaceDisabled = step.isDisabled;
        return;
      case "consumer":
        return await this.#changeConsumer(step.quota);
      default: {
        const key = this.#keys[step.key % this.#keys.length] as Key; // There are three.
        if (step.kind === "verify") await this.#verify(key, step, now);
        else if (step.kind === "burst") await this.#burst(key, step, now);
        else if (!key.model.isDeleted) await this.#change(key, step, now);
      }
    }
  }

  /** Expects that each valid verification with a cost was counted as a use. */
  async expectCounts(): Promise<void> {
    for (const { id, model } of this.#keys) {
      if (model.isDeleted) continue;
      const { rows } = await this.#stage.client.query<{ uses: number }>(
        "select use_count as uses from key_counters where key_id = $1",
        [issuedKeyUuid(id)],
      );
      expectSame(rows[0]?.uses, model.uses);
    }
  }

  async #verify(key: Key, step: Step & { readonly kind: "verify" }, now: number): Promise<void> {
    const secret = Math.max(0, key.secrets.length - 1 - step.secret);
    const { cost, isPermitted, limit, node } = step;
    const expected = this.#predict({ key: key.model, secret, cost, isPermitted, limit }, now);
    const result = await send(this.#at(node), {
      key: key.secrets[secret],
      cost,
      permissions: isPermitted ? "documents.read AND documents.write" : "documents.read AND admin",
      ...(limit ? { limits: [limit] } : {}),
    });
    expectSame(result, expected);
    this.#count(result);
  }

  /** The same requests have the same results in any order. */
  async #burst(key: Key, { cost, count }: Step & { readonly kind: "burst" }, now: number): Promise<void> {
    const secret = key.secrets.length - 1;
    const request = { key: key.model, secret, cost, isPermitted: true, limit: undefined };
    const expected = Array.from({ length: count }, () => this.#predict(request, now));
    const body = { key: key.secrets[secret], cost };
    const results = await Promise.all(Array.from({ length: count }, (_, node) => send(this.#at(node), body)));
    const sorted = (all: readonly ResultModel[]) => all.map((one) => JSON.stringify(one)).sort();
    expectSame(sorted(results), sorted(expected));
    for (const result of results) this.#count(result);
  }

  #predict(request: VerificationModel, now: number): ResultModel {
    return verify(request, { now, isKeyspaceUsable: !this.#isKeyspaceDisabled });
  }

  async #change(
    { model, id, secrets }: Key,
    step: Exclude<Step, { readonly kind: "verify" | "burst" | "clock" | "keyspace" | "consumer" }>,
    now: number,
  ): Promise<void> {
    const node = this.#at(step.node);
    const path = `${pathOf(node)}/keys/${id}`;
    const edit = (fields: object) => callApi(node, ["PATCH", path], fields);
    switch (step.kind) {
      case "disable":
        await edit({ isDisabled: step.isDisabled });
        model.isDisabled = step.isDisabled;
        return;
      case "expire":
        model.expiresAt = step.expires ? now + hourMs : null;
        await edit({ expiresAt: model.expiresAt && new Date(model.expiresAt).toISOString() });
        return;
      case "limits":
        model.limits = [
          ...(step.requests ? [{ name: "requests", quota: step.requests, appliesAlways: true }] : []),
          ...(step.exports ? [{ name: "exports", quota: step.exports, appliesAlways: false }] : []),
        ];
        await edit({ limits: model.limits.map((limit) => ({ ...limit, windowSeconds: 3_600 })) });
        return;
      case "credits": {
        const { remaining, refill } = step;
        await edit({ credits: remaining === null ? null : { remaining, refill } });
        model.refill = remaining === null ? null : refill;
        model.counter.credits = createCounter(remaining, now).credits;
        return;
      }
      case "rotate": {
        const { key } = await callApi<{ key: string }>(node, ["POST", `${path}/rotate`], {
          overlapSeconds: step.overlaps ? 3_600 : 0,
        });
        secrets.push(key);
        model.validUntil[secrets.length - 2] = step.overlaps ? now + hourMs : Number.NEGATIVE_INFINITY;
        model.validUntil.push(Number.POSITIVE_INFINITY);
        model.hasUnusedSecret = true;
        return;
      }
      case "delete":
        await callApi(node, ["DELETE", path]);
        model.isDeleted = true;
        return;
      default:
        step satisfies never;
    }
  }

  /** Changes the limits of the consumer in the database, as the product does. */
  async #changeConsumer(quota: number | undefined): Promise<void> {
    const { client } = this.#stage;
    this.#consumer.limits = quota ? [{ name: "shared", quota, appliesAlways: true }] : [];
    const stored = this.#consumer.limits.map((limit) => ({ ...limit, windowSeconds: 3_600 }));
    const keyspaceId = decodeId("keyspace", this.#at(0).id);
    await client.query("begin");
    await client.query("update consumers set limits = $2, version = version + 1 where keyspace_id = $1", [
      keyspaceId,
      JSON.stringify(stored),
    ]);
    await client.query(
      `insert into owner_versions as known (owner_id, version)
      select id, 1 from consumers where keyspace_id = $1
      on conflict (owner_id) do update set version = known.version + 1`,
      [keyspaceId],
    );
    await client.query("commit");
  }

  #count({ code }: ResultModel): void {
    this.counts[code] = (this.counts[code] ?? 0) + 1;
  }

  /** The keyspace on one of the nodes. */
  #at(node: number): Keyspace {
    const { baseUrls } = this.#stage;
    if (!this.#keyspace) throw new Error("The scenario has no keyspace.");
    return { ...this.#keyspace, baseUrl: baseUrls[node % baseUrls.length] ?? "" };
  }
}

/** Verifies a key on a node. */
async function send({ baseUrl, callerKey }: Keyspace, body: object): Promise<ResultModel> {
  const response = await fetch(`${baseUrl}/open/keys/verify`, {
    method: "POST",
    headers: { Authorization: `Bearer ${callerKey}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const result = (await response.json()) as {
    readonly code: string;
    readonly credits: { readonly remaining: number } | null;
    readonly limits: readonly (Omit<ResultModel["limits"][number], "resetsInMinutes"> & {
      readonly resetsInSeconds: number;
    })[];
    readonly error?: { readonly code: string };
  }; // The endpoint's response, or an error.
  if (result.error) return { code: result.error.code, credits: null, limits: [] };
  return {
    code: result.code,
    credits: result.credits?.remaining ?? null,
    limits: result.limits.map(({ name, quota, remaining, resetsInSeconds, isExceeded }) => ({
      name,
      quota,
      remaining,
      resetsInMinutes: toFiveMinutes(resetsInSeconds * 1_000),
      isExceeded,
    })),
  };
}

function expectSame(found: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) throw new Error(`The model expects ${other}, but the product returned ${one}.`);
}
