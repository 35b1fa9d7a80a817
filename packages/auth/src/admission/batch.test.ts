import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import { describe, expect, test } from "vitest";
import {
  type Batch,
  composeBatches,
  listAsks,
  listFirstUses,
  listWaiters,
  openWorkspace,
  requestOfNoKey,
  type Waiter,
} from "./batch.ts";
import { goodFacts } from "./facts.test-kit.ts";
import type { WorkspaceDemand } from "./judge.ts";
import { createWaiter } from "./waiter.test-kit.ts";

const [one, other] = ["one", "other"] as unknown as [WorkspaceId, WorkspaceId];
const otherFacts = { ...goodFacts, keyId: "other key" as KeyId };

function toRead(workspaceId: WorkspaceId): WorkspaceDemand {
  return { workspaceId, permission: "workspace:read" };
}

/** The groups of a batch, each as its digest and its requests. */
function groupsOf({ spending, probing }: Batch) {
  return {
    counted: [...spending].map(([keyId, { digest, waiters }]) => [keyId, digest, waiters]),
    lookedUp: [...probing.values()].map(({ probe, waiters }) => [probe, waiters]),
  };
}

/** The groups of both batches that these requests make. */
function compose(waiters: readonly Waiter[], apartKeys: readonly KeyId[] = []) {
  const { together, apart, later } = composeBatches(waiters, new Set(apartKeys));
  return {
    together: groupsOf({ spending: together, probing: new Map() }).counted,
    apart: groupsOf(apart),
    later,
  };
}

const nothingApart = { counted: [], lookedUp: [] };

describe("requests whose facts are known", () => {
  test("are counted together, a group per key", () => {
    const [first, second, third] = [
      createWaiter(),
      createWaiter({ digest: "other", facts: otherFacts }),
      createWaiter(),
    ];
    expect(compose([first, second, third])).toEqual({
      together: [
        [goodFacts.keyId, "current", [first, third]],
        [otherFacts.keyId, "other", [second]],
      ],
      apart: nothingApart,
      later: [],
    });
  });

  test("are skipped if they have been answered already", () => {
    const answered = [
      createWaiter({ isAnswered: true }),
      createWaiter({ isAnswered: true, facts: undefined }),
    ];
    expect(compose(answered)).toEqual({ together: [], apart: nothingApart, later: [] });
  });

  test("are counted apart if their key is set apart", () => {
    const [held, free] = [createWaiter(), createWaiter({ digest: "other", facts: otherFacts })];
    expect(compose([held, free], [goodFacts.keyId])).toEqual({
      together: [[otherFacts.keyId, "other", [free]]],
      apart: { counted: [[goodFacts.keyId, "current", [held]]], lookedUp: [] },
      later: [],
    });
  });

  test("are counted apart if their secret has never been used", () => {
    const facts = { ...goodFacts, isUnusedSecret: true };
    const [first, second] = [createWaiter({ facts }), createWaiter({ facts })];
    expect(compose([first, second])).toEqual({
      together: [],
      apart: { counted: [[goodFacts.keyId, "current", [first, second]]], lookedUp: [] },
      later: [],
    });
  });

  test("are looked up if their group has another version of the facts", () => {
    const [fresh, stale] = [createWaiter({ facts: { ...goodFacts, version: 2 } }), createWaiter()];
    expect(compose([fresh, stale])).toEqual({
      together: [[goodFacts.keyId, "current", [fresh]]],
      apart: { counted: [], lookedUp: [[{ digest: "current", workspaceId: undefined }, [stale]]] },
      later: [],
    });
  });

  test("are looked up if both the version and the secret differ from their group's", () => {
    const facts = { ...goodFacts, version: 2 };
    const [fresh, former] = [createWaiter({ facts }), createWaiter({ digest: "former" })];
    expect(compose([fresh, former])).toMatchObject({
      apart: { lookedUp: [[{ digest: "former", workspaceId: undefined }, [former]]] },
      later: [],
    });
  });

  test.each([{ apartKeys: [] }, { apartKeys: [goodFacts.keyId] }])(
    "wait for the next statement if theirs counts another secret of the key: %j",
    ({ apartKeys }) => {
      const former = createWaiter({
        digest: "former",
        facts: { ...goodFacts, isRetired: true, goodUntil: "2027" },
      });
      const [first, last] = [createWaiter(), createWaiter()];
      const { together, apart, later } = compose([first, former, last], apartKeys);
      expect([...together, ...apart.counted]).toEqual([[goodFacts.keyId, "current", [first, last]]]);
      expect(apart.lookedUp).toEqual([]);
      expect(later).toEqual([former]);
    },
  );
});

test("requests without facts are looked up, those for the same secret and workspace together", () => {
  const lookedUp = (digest: string, demand?: Waiter["demand"]) =>
    createWaiter({ digest, demand, facts: undefined });
  const [bare, inOne, inOther, again, unnarrowed, stranger] = [
    lookedUp("a"),
    lookedUp("a", toRead(one)),
    lookedUp("a", toRead(other)),
    lookedUp("a", { workspaceId: one, permission: "members:manage" }),
    lookedUp("a", "unnarrowed"),
    lookedUp("b", toRead(one)),
  ];
  expect(compose([bare, inOne, inOther, again, unnarrowed, stranger])).toEqual({
    together: [],
    apart: {
      counted: [],
      lookedUp: [
        [{ digest: "a", workspaceId: undefined }, [bare, unnarrowed]],
        [{ digest: "a", workspaceId: one }, [inOne, again]],
        [{ digest: "a", workspaceId: other }, [inOther]],
        [{ digest: "b", workspaceId: one }, [stranger]],
      ],
    },
    later: [],
  });
});

test("a statement is given each key's uses, version, end and limit, and the first uses of new secrets", () => {
  const limit = { quota: 10, windowSeconds: 60 };
  const facts = { ...otherFacts, version: 7, goodUntil: "2027-01-01", limit, isUnusedSecret: true };
  const waiters = [createWaiter(), createWaiter({ digest: "new", facts }), createWaiter()];
  const { apart } = composeBatches(waiters, new Set([goodFacts.keyId]));
  expect(listAsks(apart.spending)).toEqual([
    { keyId: goodFacts.keyId, uses: 2, version: 1, goodUntil: null, limit: null },
    { keyId: otherFacts.keyId, uses: 1, version: 7, goodUntil: "2027-01-01", limit },
  ]);
  expect(listFirstUses(apart.spending)).toEqual([otherFacts.keyId]);
});

test("a batch lists all of its requests", () => {
  const [first, second, unknown] = [createWaiter(), createWaiter(), createWaiter({ facts: undefined })];
  const { apart } = composeBatches([first, second, unknown], new Set([goodFacts.keyId]));
  expect(listWaiters(apart)).toEqual([first, second, unknown]);
  for (const [index, waiter] of [first, second, unknown].entries())
    expect(listWaiters(apart)[index]).toBe(waiter);
});

describe("a request opens", () => {
  const facts = { ...goodFacts, roles: new Map([[one, "admin"] as const]) };

  test("the workspace that it asked for, in its user's role", () => {
    expect(openWorkspace(createWaiter({ facts, demand: toRead(one) }))).toEqual({
      scope: { workspaceId: one },
      userId: goodFacts.userId,
      role: "admin",
    });
  });

  test.each<[string, Partial<Waiter>]>([
    ["that its user is not a member of", { facts, demand: toRead(other) }],
    ["if it asked for none", { facts, demand: undefined }],
    ["if it asked for what no restricted key may do", { facts, demand: "unnarrowed" }],
    ["while its facts are unknown", { facts: undefined, demand: toRead(one) }],
  ])("no workspace %s", (_when, request) => {
    expect(openWorkspace(createWaiter(request))).toBeUndefined();
  });
});

test("the request that probes the database has a digest of 32 zero bytes and no facts", () => {
  expect(requestOfNoKey).toEqual({
    digest: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    demand: undefined,
    address: undefined,
    facts: undefined,
  });
});
