import { callApi, type Keyspace, pathOf } from "../keyspace.ts";
import {
  changeBalance,
  createCounter,
  type KeyModel,
  type PermissionsModel,
  type QueryModel,
  removeFormer,
} from "./model.ts";
import { expectSame, sendBalance } from "./send.ts";
import type { KeyStep } from "./steps.ts";

/** A key of a scenario, with its model. */
export interface ScenarioKey {
  readonly model: KeyModel;
  readonly id: string;
  /** In order of creation. */
  readonly secrets: string[];
}

const hourMs = 3_600_000;

/** The IP addresses of consumers, and the IP range of keys that have one. */
export const addresses = { inside: "192.0.2.7", outside: "198.51.100.7" } as const;
const ipRange = "192.0.2.0/24";

/** The permissions of keys, and what verifications require. */
export const permissionsOf = {
  documents: ["documents.*"],
  all: ["*"],
  read: ["documents.read"],
  none: [],
} as const satisfies Record<PermissionsModel, readonly string[]>;
export const queries = {
  write: "documents.read AND documents.write",
  admin: "documents.read AND admin",
  either: "documents.read OR admin",
} as const satisfies Record<QueryModel, string>;

/** Changes a key on a node, and its model. @param now in milliseconds since the epoch, by the database's clock. */
export async function changeKey(
  { model, id, secrets }: ScenarioKey,
  step: KeyStep,
  { node, now }: { readonly node: Keyspace; readonly now: number },
): Promise<void> {
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
    case "ipRanges":
      await edit({ ipRanges: step.hasIpRange ? [ipRange] : null });
      model.hasIpRange = step.hasIpRange;
      return;
    case "permissions":
      await edit({ permissions: permissionsOf[step.permissions] });
      model.permissions = step.permissions;
      return;
    case "limits":
      model.limits = [
        ...(step.requests ? [{ name: "requests", quota: step.requests, appliesAlways: true }] : []),
        ...(step.exports ? [{ name: "exports", quota: step.exports, appliesAlways: false }] : []),
      ];
      await edit({ limits: model.limits.map((limit) => ({ ...limit, windowSeconds: 3_600 })) });
      removeFormer(model.counter, model.limits);
      return;
    case "credits": {
      const { remaining, refill } = step;
      await edit({ credits: remaining === null ? null : { remaining, refill } });
      model.refill = remaining === null ? null : refill;
      model.counter.credits = createCounter(remaining, now).credits;
      return;
    }
    case "balance": {
      const { change, amount } = step;
      const signed = change === "set" ? { set: amount } : { add: change === "add" ? amount : -amount };
      expectSame(await sendBalance(node, id, { [change]: amount }), changeBalance(model, signed, now));
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
