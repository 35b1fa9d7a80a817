import { type InspectedKey, inspectKey } from "@latchkey/auth/inspection";
import type { Outcome } from "@latchkey/auth/outcome";
import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { explainOutcome } from "../domain/outcomes.ts";
import { readBearerToken } from "./bearer-token.ts";
import type { FindRoute } from "./open-routes.ts";

/** A request to try out. */
export interface TriedRequest {
  readonly userId: UserId;
  /** The whole secret, which is neither stored nor logged; or the ID of a key, for its current secret. */
  readonly key: InspectedKey;
  readonly method: string;
  /** With `/open` before it. */
  readonly path: string;
  readonly address: string | undefined;
}

/** What a request would be answered, and why. */
export interface Explanation {
  /**
   * The status that admission and the router would give it; 200 where a handler would have the word, null for a secret
   * that is told nothing about.
   */
  readonly status: number | null;
  /** Undefined for a secret that no key of the reader's has. */
  readonly keyId: KeyId | undefined;
  readonly outcome: Outcome | "unknown";
  readonly explanation: string;
  /** The permission that the request needs in its workspace. */
  readonly permission: string | null;
  /** How many uses the key's limit leaves right now; null for one without. */
  readonly remaining: number | null;
}

export type ExplainRequest = (request: TriedRequest) => Promise<Explanation>;

/** @param db a connection in the admission role. */
export function createExplainer(db: Db, findRoute: FindRoute): ExplainRequest {
  return async ({ userId, key, method, path, address }) => {
    const route = findRoute(method, path);
    const requirement = route instanceof AppError ? undefined : route.requirement;
    const about = {
      permission: typeof requirement === "object" ? requirement.permission : null,
      remaining: null,
    };
    const stranger = { ...about, keyId: undefined, outcome: "unknown" } as const;
    if ("token" in key && readBearerToken(["Authorization", `Bearer ${key.token}`]) === undefined) {
      const explanation = "This is not of the form of a key: the request would be told to authenticate.";
      return { ...stranger, status: 401, explanation };
    }
    const found = await inspectKey(db, key, { requirement, address });
    if (found?.facts.userId !== userId) {
      // Whether it is somebody else's is told to nobody.
      const explanation =
        "No API key of yours has this secret. Only a key’s own user is told what it would be answered.";
      return { ...stranger, status: null, explanation };
    }
    const { facts, judgement, remaining } = found;
    const told = { ...about, keyId: facts.keyId, remaining };
    if (judgement.kind === "refused") {
      const outcome = judgement.reason as Outcome; // A key was found.
      return { ...told, status: 403, outcome, explanation: explainOutcome(outcome) };
    }
    if (remaining === 0) {
      return { ...told, status: 429, outcome: "limited", explanation: explainOutcome("limited") };
    }
    if (route instanceof AppError) {
      const explanation =
        route.code === "NOT_FOUND"
          ? "The key is good, but the path leads nowhere."
          : "The key is good, but the path does not have this method.";
      return { ...told, status: route.status, outcome: "admitted", explanation };
    }
    return { ...told, status: 200, outcome: "admitted", explanation: "The key is good for this request." };
  };
}
