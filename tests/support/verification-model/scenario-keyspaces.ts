import { randomUUID } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { disableUser, enableUser } from "@latchkey/db/users";
import type pg from "pg";
import { callApi, type IssuedKey, issueKey, type Keyspace, pathOf } from "../keyspace.ts";
import type { SteppedClock } from "../stepped-clock.ts";
import { addresses, permissionsOf, queries, type ScenarioKey } from "./change-key.ts";
import {
  type ConsumerModel,
  createCounter,
  type KeyModel,
  type StateModel,
  type VerificationModel,
} from "./model.ts";
import type { VerificationStep } from "./steps.ts";

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

/** The consumer of two of the keys. */
export const externalId = "customer";

/** The keyspaces of a scenario and their keys, in the product and in the model. */
export class ScenarioKeyspaces {
  readonly #stage: Stage;
  keys: ScenarioKey[] = [];
  consumer: ConsumerModel = { counter: createCounter(null, 0), limits: [] };
  keyspace: Keyspace | undefined;
  /** The keyspace of the other workspace. */
  other: Keyspace | undefined;
  isKeyspaceDisabled = false;
  #isWorkspaceDisabled = false;
  #isCallerDisabled = false;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get isWorkspaceDisabled(): boolean {
    return this.#isWorkspaceDisabled;
  }

  /**
   * Creates a keyspace with two keys of a consumer, and a third one. A key with the secret of the third one is imported into a
   * keyspace of the other workspace.
   */
  async open(): Promise<void> {
    const { workspaceId, otherWorkspaceId, importSecret } = this.#stage;
    this.keyspace = await this.#createKeyspace(workspaceId);
    this.other = await this.#createKeyspace(otherWorkspaceId);
    this.isKeyspaceDisabled = false;
    this.keys = [];
    this.consumer = { counter: createCounter(null, 0), limits: [] };
    for (const consumer of [externalId, externalId, null]) {
      const issued: IssuedKey = await issueKey(this.keyspace, {
        externalId: consumer,
        permissions: permissionsOf.documents,
      });
      this.keys.push({
        id: issued.id,
        secrets: [issued.key],
        model: { ...newKey(), consumer: consumer === null ? undefined : this.consumer },
      });
    }
    const secret = this.keys.at(-1)?.secrets[0] ?? "";
    const id = await importSecret(this.other, secret);
    // A retry can't replace the secret of an imported key.
    const model = { ...newKey(), consumer: undefined, isElsewhere: true, hasUnusedSecret: false };
    this.keys.push({ id, secrets: [secret], model });
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

  /** Deletes the keyspaces that still exist. */
  async close(): Promise<void> {
    await this.switchCaller(false);
    await this.switchWorkspace(false);
    const keyspaces = [this.keyspace, this.other];
    this.keyspace = undefined;
    this.other = undefined;
    for (const keyspace of keyspaces) if (keyspace) await callApi(keyspace, ["DELETE", pathOf(keyspace)]);
  }

  /** What decides about all keys, at a time in milliseconds since the epoch. */
  state(now: number): StateModel {
    return {
      now,
      isKeyspaceUsable: !this.isKeyspaceDisabled && !this.#isWorkspaceDisabled,
      isCallerDisabled: this.#isCallerDisabled,
    };
  }

  /** A verification, for the model. */
  toModel({ place, cost, query, address, limit, ...presented }: VerificationStep): VerificationModel {
    const secret = this.#secretOf(presented);
    const copies = this.keys.flatMap(({ model, secrets }) => {
      const isInPlace = place === undefined || model.isElsewhere === (place === "other");
      return isInPlace && secrets.includes(secret) ? [{ key: model, secret: secrets.indexOf(secret) }] : [];
    });
    return { copies, cost, query, address, limit };
  }

  #secretOf({ key, secret }: Pick<VerificationStep, "key" | "secret">): string {
    const { secrets } = this.key(key);
    return secrets[Math.max(0, secrets.length - 1 - secret)] ?? "";
  }

  /** The same verification, for the API. */
  toBody(step: VerificationStep): object {
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

  /** Disables or enables the member as the `latchkey` command does, without starting a process. */
  async switchCaller(isDisabled: boolean): Promise<void> {
    const { db, callerId } = this.#stage;
    const change = isDisabled ? disableUser : enableUser;
    await db.transaction().execute((trx) => change(trx, callerId));
    this.#isCallerDisabled = isDisabled;
  }

  /** Disables or enables the workspace of the scenario's keyspace. */
  async switchWorkspace(isDisabled: boolean): Promise<void> {
    if (isDisabled === this.#isWorkspaceDisabled) return;
    await this.#stage.disableWorkspace(isDisabled);
    this.#isWorkspaceDisabled = isDisabled;
  }

  /** The key that a step names. */
  key(number: number): ScenarioKey {
    return this.keys[number % this.keys.length] as ScenarioKey; // There are four.
  }

  /** A keyspace on one of the nodes, for the owner. */
  at(node: number, keyspace = this.keyspace): Keyspace {
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
