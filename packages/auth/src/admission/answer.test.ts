import type { WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { answerCounted, malformed, presentedBy, unavailable, unknownKey } from "./answer.ts";
import type { PendingRequest } from "./batch.ts";
import type { KeyFacts } from "./decision.ts";
import { membershipAs, validFacts } from "./facts.test-kit.ts";
import type { LimitOutcome } from "./limit-window.ts";
import { createPendingRequest } from "./pending-request.test-kit.ts";
import type { Verdict } from "./verdict.ts";

const workspaceId = "w" as WorkspaceId;
const limit = { quota: 5, windowSeconds: 60 };
const { keyId, userId } = validFacts;
const presented = { keyId, userId, formerSecret: undefined };
const principal = {
  keyId,
  userId,
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
  return requests.map((request) => verdicts.get(request) as Verdict); // If one is missing, the comparison fails.
}

const withRole: KeyFacts = { ...validFacts, memberships: new Map([[workspaceId, membershipAs("viewer")]]) };
const inWorkspace = { requirement: { workspaceId, permission: "workspace:read" } } as const;
const access = { scope: { workspaceId }, userId: validFacts.userId, role: "viewer" };

test("requests without a rate limit are allowed, each with its requested workspace", () => {
  expect(answer(withRole, [{}, inWorkspace, { requirement: "unrestricted" }])).toEqual([
    { kind: "admitted", presented, principal, access: undefined, limit: undefined },
    { kind: "admitted", presented, principal, access, limit: undefined },
    { kind: "admitted", presented, principal, access: undefined, limit: undefined },
  ]);
});

test("requests with a rate limited key are allowed in order until no request remains", () => {
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

test("the remaining requests count down within a batch to the number that the database returned", () => {
  const verdicts = answer({ ...validFacts, limit }, [{}, {}], {
    granted: 2,
    remaining: 3,
    resetsInSeconds: 1,
  });
  expect(verdicts).toMatchObject([{ limit: { remaining: 4 } }, { limit: { remaining: 3 } }]);
});

test("no request with a rate limited key is allowed when none remains", () => {
  const spent = { granted: 0, remaining: 0, resetsInSeconds: 60 };
  const state = { limit, remaining: 0, resetsInSeconds: 60 };
  expect(answer({ ...validFacts, limit }, [{}, {}], spent)).toEqual(
    Array(2).fill({ kind: "limited", presented, limit: state }),
  );
});

test("a rate limited key without an outcome is an error, and no request is allowed", () => {
  const requests = [createPendingRequest()];
  const facts = { ...validFacts, limit };
  const answered: PendingRequest[] = [];
  expect(() =>
    answerCounted({ digest: "current", facts, requests }, undefined, (request) => answered.push(request)),
  ).toThrow("A key with a rate limit was counted, but the statement returned no outcome for it.");
  expect(answered).toEqual([]);
});

test("distinguishes an old secret from the current one, and keeps its digest for the log", () => {
  const facts = { ...validFacts, isFormerSecret: true };
  expect(presentedBy(facts, "former")).toEqual({ keyId, userId, formerSecret: "former" });
  expect(presentedBy(validFacts, "current")).toEqual(presented);
  expect(answer(facts, [{}])).toMatchObject([
    { presented: { formerSecret: "current" }, principal: { isByFormerSecret: true } },
  ]);
});

test("an unknown token is rejected, and a request without an answer from the database is unavailable", () => {
  expect(unknownKey).toEqual({ kind: "rejected", reason: "unknown", presented: undefined });
  expect(malformed).toEqual({ kind: "rejected", reason: "malformed", presented: undefined });
  expect(unavailable).toEqual({ kind: "unavailable", retryAfterSeconds: 1 });
});
