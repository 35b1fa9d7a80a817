import type { ConsumerId, IssuedKeyId, WorkspaceId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import { membershipAs } from "../admission/facts.test-kit.ts";
import { compileRestrictions } from "../restrictions.ts";
import { decideRequest, findTarget, type KnownRequest, listCounterIds } from "./decide-request.ts";
import { counterOf, issued, limitOf, lock, now, verification } from "./decision.test-kit.ts";
import { caller, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

const second: VerifiableKey = { ...issued, keyId: "second" as IssuedKeyId };
const consumer = { id: "consumer" as ConsumerId, externalId: "acme", version: 0, limits: [] };

/** A request that verifies each of the targets once. */
const requestOf = (targets: KnownRequest["targets"], change: Partial<KnownRequest> = {}): KnownRequest => ({
  address: undefined,
  caller,
  verifications: targets.map(() => verification),
  targets,
  earlier: undefined,
  ...change,
});
const counters = () => [caller, issued, second].map(({ keyId }) => counterOf(keyId));
const codesOf = (decision: ReturnType<typeof decideRequest>) => {
  if (decision.kind !== "admitted" || decision.outcome.kind !== "verified") throw new Error(decision.kind);
  return decision.outcome.results.map(({ code }) => code);
};

describe("a request with several keys", () => {
  test("is outdated if the facts of one of them have changed, and spends from none", () => {
    const state = lock(counters());
    for (const targets of [
      [issued, { ...second, version: 2 }],
      [{ ...issued, version: 2 }, second],
      [issued, { ...second, overlapEndsAt: now }],
    ])
      expect(decideRequest(requestOf(targets), state)).toEqual({ kind: "outdated" });
    expect([...state.counters.values()].map(({ uses }) => uses)).toEqual([0, 0, 0]);
  });

  test("can name any limit of a key's consumer that the key doesn't have", () => {
    const limits = [limitOf("requests", 9, false), limitOf("exports", 9, false)];
    const decideWith = (name: string) =>
      decideRequest(
        requestOf([{ ...issued, consumer: { ...consumer, limits } }], {
          verifications: [{ ...verification, limits: [{ name, cost: 1 }] }],
        }),
        lock([...counters(), counterOf(consumer.id)]),
      );
    for (const { name } of limits) expect(codesOf(decideWith(name))).toEqual(["VALID"]);
    const unknown = { kind: "unknown-limit", verification: 0, limit: 0 };
    expect(decideWith("imports")).toMatchObject({ outcome: unknown });
  });

  test("a key that the caller may not verify is not found, even if the request names a limit", () => {
    const verifications = [{ ...verification, limits: [{ name: "requests", cost: 1 }] }, verification];
    const decision = decideRequest(requestOf([undefined, second], { verifications }), lock(counters()));
    expect(codesOf(decision)).toEqual(["NOT_FOUND", "VALID"]);
  });
});

describe("a member without an API key", () => {
  test("verifies keys, and has no rate limit", () => {
    const state = lock([counterOf(issued.keyId)]);
    const decision = decideRequest(requestOf([issued], { caller: undefined }), state);
    expect(decision).toMatchObject({
      kind: "admitted",
      limit: undefined,
      outcome: { kind: "verified", results: [{ code: "VALID" }] },
    });
    expect(state.counters.get(issued.keyId)?.uses).toBe(1);
  });

  test.each([
    ["the facts have changed", { version: 2 }],
    ["the overlap of an old secret has ended", { overlapEndsAt: now }],
  ])("is decided again if %s", (_what, change) => {
    const request = requestOf([{ ...issued, ...change }], { caller: undefined });
    expect(decideRequest(request, lock(counters()))).toEqual({ kind: "outdated" });
  });

  test("finds keys of the workspace that the request names, and none without a workspace", () => {
    const find = (workspace: WorkspaceId | undefined) =>
      findTarget(
        { ...verification, workspaceId: workspace },
        { caller: undefined, address: undefined, candidates: [issued] },
      );
    expect(find(workspaceId)).toBe(issued);
    expect(find("elsewhere" as WorkspaceId)).toBeUndefined();
    expect(find(undefined)).toBeUndefined();
  });
});

describe("the caller", () => {
  const findAs = (callerFacts: typeof caller) =>
    findTarget(
      { ...verification, workspaceId },
      { caller: callerFacts, address: undefined, candidates: [issued] },
    );

  test("finds a key of the workspace that the request names", () => {
    expect(findAs(caller)).toBe(issued);
  });

  test("finds the keys of a disabled workspace, so that they are reported as disabled", () => {
    const membership = membershipAs("member", { isWorkspaceDisabled: true });
    expect(findAs({ ...caller, memberships: new Map([[workspaceId, membership]]) })).toBe(issued);
  });

  test("is admitted if it belongs to a service account of a disabled workspace", () => {
    const serviceAccount = { ...caller, isServiceWorkspaceDisabled: true };
    const decision = decideRequest(requestOf([issued], { caller: serviceAccount }), lock(counters()));
    expect(decision.kind).toBe("admitted");
  });

  test("is admitted from an IP address of its ranges, and rejected from another one", () => {
    const restrictions = compileRestrictions({
      isDisabled: false,
      expiresAt: null,
      workspaceIds: null,
      permissions: null,
      isReadOnly: false,
      ipRanges: ["192.0.2.0/24"],
      limit: null,
    });
    const decideFrom = (address: string) =>
      decideRequest(requestOf([issued], { caller: { ...caller, restrictions }, address }), lock(counters()));
    expect(decideFrom("192.0.2.1").kind).toBe("admitted");
    expect(decideFrom("198.51.100.1")).toEqual({ kind: "rejected", reason: "address" });
  });
});

describe("a request isn't outdated", () => {
  const isWorkspaceCurrent = (isCurrent: boolean) => (id: string) => isCurrent || id !== workspaceId;

  test("if it verifies a key without a balance", () => {
    expect(codesOf(decideRequest(requestOf([plainKey]), lock(counters())))).toEqual(["VALID"]);
  });

  test("if the workspace of the issued key was neither disabled nor enabled", () => {
    const decideIf = (isCurrent: boolean) =>
      decideRequest(requestOf([issued]), lock(counters(), isWorkspaceCurrent(isCurrent)));
    expect(decideIf(true).kind).toBe("admitted");
    expect(decideIf(false)).toEqual({ kind: "outdated" });
  });

  test("if the workspace of an API key has changed, because the version of its user covers it", () => {
    const apiKey = { ...issued, keyspaceId: null, workspaceVersion: null };
    const state = lock(counters(), isWorkspaceCurrent(false));
    expect(codesOf(decideRequest(requestOf([apiKey]), state))).toEqual(["VALID"]);
  });

  test("if the consumer of a key has no counter, because it has no limits", () => {
    expect(codesOf(decideRequest(requestOf([{ ...issued, consumer }]), lock(counters())))).toEqual(["VALID"]);
  });
});

test("a request is decided by the counters of the caller, of each key and of each consumer with limits", () => {
  const limited = { ...consumer, limits: [limitOf("shared", 1)] };
  const targets = [issued, undefined, { ...second, consumer: limited }, { ...issued, consumer }];
  const ofTargets = [issued.keyId, second.keyId, consumer.id, issued.keyId];
  expect(listCounterIds({ caller, targets })).toEqual([caller.keyId, ...ofTargets]);
  expect(listCounterIds({ caller: undefined, targets })).toEqual(ofTargets);
  expect(listCounterIds({ caller: undefined, targets: [] })).toEqual([]);
});
