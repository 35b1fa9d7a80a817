import type { WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { answerCounted, malformed, presentedBy, unavailable, unknownKey } from "./answer.ts";
import type { PendingRequest } from "./batch.ts";
import { goodFacts } from "./facts.test-kit.ts";
import type { KeyFacts } from "./judge.ts";
import type { LimitOutcome } from "./limit-window.ts";
import { createPendingRequest } from "./pending-request.test-kit.ts";
import type { Verdict } from "./verdict.ts";

const workspaceId = "w" as WorkspaceId;
const limit = { quota: 5, windowSeconds: 60 };
const presented = { keyId: goodFacts.keyId, retiredSecret: undefined };
const principal = {
  keyId: goodFacts.keyId,
  userId: goodFacts.userId,
  digest: "current",
  restrictions: undefined,
  isRestricted: false,
  isByFormerSecret: false,
};

/** The verdicts of requests that were counted in one group. */
function answer(
  facts: KeyFacts,
  fields: readonly Partial<PendingRequest>[],
  outcome?: LimitOutcome,
): Verdict[] {
  const requests = fields.map((request) => createPendingRequest({ facts, ...request }));
  const verdicts = new Map<PendingRequest, Verdict>();
  answerCounted({ digest: "current", facts, requests }, outcome, (request, verdict) =>
    verdicts.set(request, verdict),
  );
  return requests.map((request) => verdicts.get(request) as Verdict); // Each was answered, or the comparison fails.
}

const withRole: KeyFacts = { ...goodFacts, roles: new Map([[workspaceId, "viewer"] as const]) };
const inWorkspace = { requirement: { workspaceId, permission: "workspace:read" } } as const;
const access = { scope: { workspaceId }, userId: goodFacts.userId, role: "viewer" };

test("requests of a key without a limit are admitted, each with the workspace that it asked for", () => {
  expect(answer(withRole, [{}, inWorkspace, { requirement: "unrestricted" }])).toEqual([
    { kind: "admitted", presented, principal, access: undefined, limit: undefined },
    { kind: "admitted", presented, principal, access, limit: undefined },
    { kind: "admitted", presented, principal, access: undefined, limit: undefined },
  ]);
});

test("requests of a limited key are admitted in order until the limit is used up", () => {
  const requests = [{}, inWorkspace, {}, inWorkspace];
  const spent = { granted: 3, remaining: 0, resetsInSeconds: 17 };
  const state = (remaining: number) => ({ limit, remaining, resetsInSeconds: 17 });
  expect(answer({ ...withRole, limit }, requests, spent)).toEqual([
    { kind: "admitted", presented, principal, access: undefined, limit: state(2) },
    { kind: "admitted", presented, principal, access, limit: state(1) },
    { kind: "admitted", presented, principal, access: undefined, limit: state(0) },
    { kind: "limited", presented, limit: state(0) },
  ]);
});

test("what remains of a limit counts down within a batch to what the database says", () => {
  const verdicts = answer({ ...goodFacts, limit }, [{}, {}], {
    granted: 2,
    remaining: 3,
    resetsInSeconds: 1,
  });
  expect(verdicts).toMatchObject([{ limit: { remaining: 4 } }, { limit: { remaining: 3 } }]);
});

test("no request of a limited key is admitted when nothing is left", () => {
  const spent = { granted: 0, remaining: 0, resetsInSeconds: 60 };
  const state = { limit, remaining: 0, resetsInSeconds: 60 };
  expect(answer({ ...goodFacts, limit }, [{}, {}], spent)).toEqual(
    Array(2).fill({ kind: "limited", presented, limit: state }),
  );
});

test("a limited key that was counted without the state of its limit is an error, and no request is admitted", () => {
  const requests = [createPendingRequest()];
  const facts = { ...goodFacts, limit };
  const answered: PendingRequest[] = [];
  expect(() =>
    answerCounted({ digest: "current", facts, requests }, undefined, (request) => answered.push(request)),
  ).toThrow("A key with a rate limit was counted, but the statement returned no outcome for it.");
  expect(answered).toEqual([]);
});

test("a former secret is told from the current one, and its digest is kept for the log", () => {
  const facts = { ...goodFacts, isRetired: true };
  expect(presentedBy(facts, "former")).toEqual({ keyId: goodFacts.keyId, retiredSecret: "former" });
  expect(presentedBy(goodFacts, "current")).toEqual(presented);
  expect(answer(facts, [{}])).toMatchObject([
    { presented: { retiredSecret: "current" }, principal: { isByFormerSecret: true } },
  ]);
});

test("a token that no key has is refused, and a database that does not answer leaves a request unavailable", () => {
  expect(unknownKey).toEqual({ kind: "refused", reason: "unknown", presented: undefined });
  expect(malformed).toEqual({ kind: "refused", reason: "malformed", presented: undefined });
  expect(unavailable).toEqual({ kind: "unavailable", retryAfterSeconds: 1 });
});
