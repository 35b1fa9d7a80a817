import { type InspectedKey, inspectKey } from "@latchkey/auth/inspection";
import type { Outcome } from "@latchkey/auth/outcome";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import type { UserKind } from "@latchkey/db/user-kind";
import { AppError } from "@latchkey/errors";
import { explainOutcome } from "../domain/outcomes.ts";
import { readBearerToken } from "./bearer-token.ts";
import type { FindRoute } from "./open-routes.ts";

/** A request to evaluate without admitting it. */
export interface TriedRequest {
  /** The owner of the key: the user, or a service account whose keys the user may see. */
  readonly owner: { readonly userId: UserId; readonly kind: UserKind };
  /** The complete secret, which is neither stored nor logged, or the ID of a key, for its current secret. */
  readonly key: InspectedKey;
  readonly method: string;
  /** The path, including `/open`. */
  readonly path: string;
  readonly address: string | undefined;
}

/** The response that a request would get, and the reason. */
export interface Explanation {
  /**
   * The status that admission and the router determine. 200 means that the request would reach a handler; null means
   * that no key of the user has this secret.
   */
  readonly status: number | null;
  /** Undefined if no key of the user has this secret. */
  readonly keyId: KeyId | undefined;
  readonly outcome: Outcome | "unknown";
  readonly explanation: string;
  /** The permission that the request requires in its workspace; null if it requires none. */
  readonly permission: string | null;
  /** The remaining requests in the current window; null without a rate limit. */
  readonly remaining: number | null;
}

export type ExplainRequest = (request: TriedRequest) => Promise<Explanation>;

/** @param db a connection in the admission role. */
export function createExplainer(db: Db, findRoute: FindRoute): ExplainRequest {
  return async ({ owner, key, method, path, address }) => {
    const route = findRoute(method, path);
    const requirement = route instanceof AppError ? undefined : route.requirement;
    const common = {
      permission: typeof requirement === "object" ? requirement.permission : null,
      remaining: null,
    };
    const unknownKey = { ...common, keyId: undefined, outcome: "unknown" } as const;
    if ("token" in key && readBearerToken(["Authorization", `Bearer ${key.token}`]) === undefined) {
      const explanation = "This text doesn’t have the format of an API key, so the request gets 401.";
      return { ...unknownKey, status: 401, explanation };
    }
    const found = await inspectKey(db, key, { requirement, address });
    if (found?.facts.userId !== owner.userId) {
      // Doesn't reveal whether a key of another user has this secret.
      const explanation = "You have no such API key. Only the owner of a key can evaluate requests with it.";
      return { ...unknownKey, status: null, explanation };
    }
    const { facts, decision, remaining } = found;
    const knownKey = { ...common, keyId: facts.keyId, remaining };
    if (decision.kind === "rejected") {
      const outcome = decision.reason as Outcome; // The other reasons mean that no key was found.
      return { ...knownKey, status: 403, outcome, explanation: explainOutcome(outcome, owner.kind) };
    }
    if (remaining === 0) {
      const outcome = "limited";
      return { ...knownKey, status: 429, outcome, explanation: explainOutcome(outcome, owner.kind) };
    }
    if (route instanceof AppError) {
      const explanation =
        route.code === "NOT_FOUND"
          ? "The key is valid, but no endpoint has this path."
          : "The key is valid, but the endpoint doesn’t support this method.";
      return { ...knownKey, status: route.status, outcome: "admitted", explanation };
    }
    return {
      ...knownKey,
      status: 200,
      outcome: "admitted",
      explanation: "The key is valid for this request.",
    };
  };
}
