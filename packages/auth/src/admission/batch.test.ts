import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import {
  type Batch,
  composeBatches,
  healthCheckRequest,
  isHealthCheck,
  listFirstUses,
  listIncrements,
  listRequests,
  openWorkspace,
  type PendingRequest,
  selectPending,
} from "./batch.ts";
import type { WorkspaceRequirement } from "./decision.ts";
import { membershipAs, validFacts } from "./facts.test-kit.ts";
import { createPendingRequest } from "./pending-request.test-kit.ts";

const [one, other] = ["one", "other"] as unknown as [WorkspaceId, WorkspaceId];
const otherFacts = { ...validFacts, keyId: "other key" as KeyId };

function toRead(workspaceId: WorkspaceId): WorkspaceRequirement {
  return { workspaceId, permission: "workspace:read" };
}

/** The groups of a batch, each as its digest and its requests. */
function groupsOf({ usageGroups, lookupGroups }: Batch) {
  return {
    counted: [...usageGroups].map(([keyId, { digest, requests }]) => [keyId, digest, requests]),
    lookedUp: [...lookupGroups.values()].map(({ lookup, requests }) => [lookup, requests]),
  };
}

/** The groups of both batches that these requests make. */
function compose(requests: readonly PendingRequest[], isolatedKeys: readonly KeyId[] = []) {
  const { known, isolated, deferred } = composeBatches(requests, new Set(isolatedKeys));
  return {
    known: groupsOf({ usageGroups: known, lookupGroups: new Map() }).counted,
    isolated: groupsOf(isolated),
    deferred,
  };
}

const nothingIsolated = { counted: [], lookedUp: [] };

describe("requests whose facts are known", () => {
  test("are counted in one statement, a group per key", () => {
    const [first, second, third] = [
      createPendingRequest(),
      createPendingRequest({ digest: "other", facts: otherFacts }),
      createPendingRequest(),
    ];
    expect(compose([first, second, third])).toEqual({
      known: [
        [validFacts.keyId, "current", [first, third]],
        [otherFacts.keyId, "other", [second]],
      ],
      isolated: nothingIsolated,
      deferred: [],
    });
  });

  test("are skipped if they have already been answered", () => {
    const answered = [
      createPendingRequest({ isAnswered: true }),
      createPendingRequest({ isAnswered: true, facts: undefined }),
    ];
    expect(compose(answered)).toEqual({ known: [], isolated: nothingIsolated, deferred: [] });
  });

  test("are counted in the isolated batch if their key is isolated", () => {
    const [held, free] = [
      createPendingRequest(),
      createPendingRequest({ digest: "other", facts: otherFacts }),
    ];
    expect(compose([held, free], [validFacts.keyId])).toEqual({
      known: [[otherFacts.keyId, "other", [free]]],
      isolated: { counted: [[validFacts.keyId, "current", [held]]], lookedUp: [] },
      deferred: [],
    });
  });

  test("are counted in the isolated batch if their secret has never been used", () => {
    const facts = { ...validFacts, isUnusedSecret: true };
    const [first, second] = [createPendingRequest({ facts }), createPendingRequest({ facts })];
    expect(compose([first, second])).toEqual({
      known: [],
      isolated: { counted: [[validFacts.keyId, "current", [first, second]]], lookedUp: [] },
      deferred: [],
    });
  });

  test("are looked up if their group has another version of the facts", () => {
    const [fresh, stale] = [
      createPendingRequest({ facts: { ...validFacts, version: 2 } }),
      createPendingRequest(),
    ];
    expect(compose([fresh, stale])).toEqual({
      known: [[validFacts.keyId, "current", [fresh]]],
      isolated: { counted: [], lookedUp: [[{ digest: "current", workspaceId: undefined }, [stale]]] },
      deferred: [],
    });
  });

  test("are looked up if their group has another version of the owner", () => {
    const requests = [
      createPendingRequest(),
      createPendingRequest({ facts: { ...validFacts, ownerVersion: 1 } }),
    ];
    const { known, isolated, deferred } = composeBatches(requests, new Set());
    expect([...known.values()].map((group) => group.requests)).toEqual([[requests[0]]]);
    expect([...isolated.lookupGroups.values()].map((group) => group.requests)).toEqual([[requests[1]]]);
    expect(deferred).toEqual([]);
  });

  test("are looked up if both the version and the secret differ from their group's", () => {
    const facts = { ...validFacts, version: 2 };
    const [fresh, former] = [createPendingRequest({ facts }), createPendingRequest({ digest: "former" })];
    expect(compose([fresh, former])).toMatchObject({
      isolated: { lookedUp: [[{ digest: "former", workspaceId: undefined }, [former]]] },
      deferred: [],
    });
  });

  test.each([{ isolatedKeys: [] }, { isolatedKeys: [validFacts.keyId] }])(
    "wait for the next statement if this one counts another secret of the key: %j",
    ({ isolatedKeys }) => {
      const former = createPendingRequest({
        digest: "former",
        facts: { ...validFacts, isFormerSecret: true, validUntil: "2027" },
      });
      const [first, last] = [createPendingRequest(), createPendingRequest()];
      const { known, isolated, deferred } = compose([first, former, last], isolatedKeys);
      expect([...known, ...isolated.counted]).toEqual([[validFacts.keyId, "current", [first, last]]]);
      expect(isolated.lookedUp).toEqual([]);
      expect(deferred).toEqual([former]);
    },
  );
});

test("requests without facts are looked up, once per secret and workspace", () => {
  const lookedUp = (digest: string, requirement?: PendingRequest["requirement"]) =>
    createPendingRequest({ digest, requirement, facts: undefined });
  const [bare, inOne, inOther, again, unrestricted, stranger] = [
    lookedUp("a"),
    lookedUp("a", toRead(one)),
    lookedUp("a", toRead(other)),
    lookedUp("a", { workspaceId: one, permission: "members:manage" }),
    lookedUp("a", "unrestricted"),
    lookedUp("b", toRead(one)),
  ];
  expect(compose([bare, inOne, inOther, again, unrestricted, stranger])).toEqual({
    known: [],
    isolated: {
      counted: [],
      lookedUp: [
        [{ digest: "a", workspaceId: undefined }, [bare, unrestricted]],
        [{ digest: "a", workspaceId: one }, [inOne, again]],
        [{ digest: "a", workspaceId: other }, [inOther]],
        [{ digest: "b", workspaceId: one }, [stranger]],
      ],
    },
    deferred: [],
  });
});

test("a statement receives the uses, versions, expiry and rate limit of each key, and the first uses of new secrets", () => {
  const limit = { quota: 10, windowSeconds: 60 };
  const { userId: ownerId } = validFacts;
  const facts = {
    ...otherFacts,
    version: 7,
    ownerVersion: 3,
    validUntil: "2027-01-01",
    limit,
    isUnusedSecret: true,
  };
  const requests = [
    createPendingRequest(),
    createPendingRequest({ digest: "new", facts }),
    createPendingRequest(),
  ];
  const { isolated } = composeBatches(requests, new Set([validFacts.keyId]));
  expect(listIncrements(isolated.usageGroups)).toEqual([
    { keyId: validFacts.keyId, uses: 2, version: 1, ownerId, ownerVersion: 0, validUntil: null, limit: null },
    {
      keyId: otherFacts.keyId,
      uses: 1,
      version: 7,
      ownerId,
      ownerVersion: 3,
      validUntil: "2027-01-01",
      limit,
    },
  ]);
  expect(listFirstUses(isolated.usageGroups)).toEqual([otherFacts.keyId]);
});

describe("the uses of a key are counted only before", () => {
  const expiry = "2027-01-01T00:00:00+00:00";
  const earlier = "2026-12-01T00:00:00.000001+00:00";
  const later = "2027-02-01T00:00:00+00:00";

  function deadlineOf(
    validUntil: string | null,
    idleAts: readonly (string | null)[],
    requirements: readonly PendingRequest["requirement"][],
  ): string | null | undefined {
    const memberships = new Map(
      [one, other].map((id, index) => [id, membershipAs("admin", { idleAt: idleAts[index] ?? null })]),
    );
    const facts = { ...validFacts, validUntil, memberships };
    const requests = requirements.map((requirement) => createPendingRequest({ facts, requirement }));
    const { known } = composeBatches(requests, new Set());
    return listIncrements(known)[0]?.validUntil;
  }

  test.each([
    ["its expiry, without a maximum idle time", expiry, [null, null], [toRead(one)], expiry],
    ["the time when it becomes idle", null, [later, null], [toRead(one)], later],
    ["the earlier of both", expiry, [earlier, null], [toRead(one)], earlier],
    ["its expiry, if that is earlier", expiry, [later, null], [toRead(one)], expiry],
    ["the earliest of all workspaces", null, [later, earlier], [toRead(one), toRead(other)], earlier],
    [
      "the earliest of all workspaces, in any order",
      null,
      [earlier, later],
      [toRead(one), toRead(other)],
      earlier,
    ],
    ["the same time for both workspaces", null, [later, later], [toRead(one), toRead(other)], later],
    ["no time, if no request needs the workspace", null, [later, later], [undefined, "unrestricted"], null],
    ["no time, in a workspace without a maximum idle time", null, [later, null], [toRead(other)], null],
  ] as const)("%s", (_what, validUntil, idleAts, requirements, deadline) => {
    expect(deadlineOf(validUntil, idleAts, requirements)).toBe(deadline);
  });

  test("the earliest time of requests that were looked up separately", () => {
    const looked = {
      ...validFacts,
      memberships: new Map([[one, membershipAs("admin", { idleAt: earlier })]]),
    };
    const requests = [
      createPendingRequest(),
      createPendingRequest({ facts: looked, requirement: toRead(one) }),
    ];
    const { known } = composeBatches(requests, new Set());
    expect(listIncrements(known)).toMatchObject([{ uses: 2, validUntil: earlier }]);
  });
});

test("a batch lists all of its requests", () => {
  const [first, second, unknown] = [
    createPendingRequest(),
    createPendingRequest(),
    createPendingRequest({ facts: undefined }),
  ];
  const { isolated } = composeBatches([first, second, unknown], new Set([validFacts.keyId]));
  expect(listRequests(isolated)).toEqual([first, second, unknown]);
  for (const [index, request] of [first, second, unknown].entries())
    expect(listRequests(isolated)[index]).toBe(request);
});

describe("a request opens", () => {
  const facts = { ...validFacts, memberships: new Map([[one, membershipAs("admin")]]) };

  test("its requested workspace, with its user's role", () => {
    expect(openWorkspace(createPendingRequest({ facts, requirement: toRead(one) }))).toEqual({
      scope: { workspaceId: one },
      userId: validFacts.userId,
      role: "admin",
    });
  });

  test.each<[string, Partial<PendingRequest>]>([
    ["that its user is not a member of", { facts, requirement: toRead(other) }],
    ["if it requires none", { facts, requirement: undefined }],
    ["if it requires an unrestricted key", { facts, requirement: "unrestricted" }],
    ["while its facts are unknown", { facts: undefined, requirement: toRead(one) }],
  ])("no workspace %s", (_when, request) => {
    expect(openWorkspace(createPendingRequest(request))).toBeUndefined();
  });
});

test("the request that probes the database has a digest of 32 zero bytes, which is also its caller, and no facts", () => {
  const digest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  expect(healthCheckRequest).toEqual({
    digest,
    callerId: digest,
    requirement: undefined,
    address: undefined,
    facts: undefined,
  });
});

test("only that request is a health check", () => {
  expect([healthCheckRequest, createPendingRequest()].map(isHealthCheck)).toEqual([true, false]);
});

test("the answered requests of a batch are left out, with groups that have no others", () => {
  const [counted, late, otherLate] = [
    createPendingRequest(),
    createPendingRequest(),
    createPendingRequest({ digest: "other", facts: otherFacts }),
  ];
  const unknown = { digest: "unknown", facts: undefined };
  const [lookedUp, lateUnknown, otherUnknown] = [
    createPendingRequest(unknown),
    createPendingRequest(unknown),
    createPendingRequest({ digest: "other unknown", facts: undefined }),
  ];
  const isolatedKeys = new Set([validFacts.keyId, otherFacts.keyId]);
  const { isolated } = composeBatches(
    [counted, late, otherLate, lookedUp, lateUnknown, otherUnknown],
    isolatedKeys,
  );
  for (const request of [late, otherLate, lateUnknown, otherUnknown]) request.isAnswered = true;
  expect(groupsOf(selectPending(isolated))).toEqual({
    counted: [[validFacts.keyId, "current", [counted]]],
    lookedUp: [[{ digest: "unknown", workspaceId: undefined }, [lookedUp]]],
  });
});
