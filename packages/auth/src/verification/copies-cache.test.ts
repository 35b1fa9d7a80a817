import type { KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import { beforeEach, describe, expect, test } from "vitest";
import type { Membership } from "../admission/decision.ts";
import { membershipAs } from "../admission/facts.test-kit.ts";
import { CopiesCache } from "./copies-cache.ts";
import { type CopyLookup, maxCopies } from "./find-copies.ts";
import { caller, keyspaceId, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

const lookup: CopyLookup = {
  digest: "digest",
  callerDigest: "caller",
  workspaceId: undefined,
  keyspaceId: undefined,
};
const known: VerifiableKey = { ...plainKey, isInUse: false };
const later: VerifiableKey = { ...plainKey, isInUse: true };
const found = { keys: [known], isOnly: true, caller };

let cache: CopiesCache;
beforeEach(() => {
  cache = new CopiesCache(100_000);
});

test.each([
  ["the only copy", true],
  ["copies that were found for one caller", false],
])("facts among %s are replaced with later ones", (_what, isOnly) => {
  const other = { ...plainKey };
  cache.set(lookup, { ...found, keys: [other, known], isOnly });
  cache.replace(lookup, known, later);
  const copies = cache.get(lookup, caller);
  expect(copies).toEqual([other, later]);
  expect(copies?.[0]).toBe(other);
});

describe("facts aren't replaced", () => {
  test("if they were forgotten", () => {
    cache.set(lookup, found);
    cache.delete(lookup);
    cache.replace(lookup, known, later);
    expect(cache.has(lookup, caller)).toBe(false);
  });

  test("if they were invalidated", () => {
    cache.set(lookup, found);
    cache.invalidate();
    cache.replace(lookup, known, later);
    expect(cache.get(lookup, caller)).toBeUndefined();
  });

  test("if others are remembered instead, even with the same version", () => {
    const newest = { ...known, name: "Renamed" };
    cache.set(lookup, { ...found, keys: [newest] });
    cache.replace(lookup, known, later);
    expect(cache.get(lookup, caller)).toEqual([newest]);
  });
});

const elsewhere = "elsewhere" as WorkspaceId;
const otherKeyspace = "other keyspace" as KeyspaceId;
const copyElsewhere: VerifiableKey = { ...plainKey, workspaceId: elsewhere, keyspaceId: otherKeyspace };
const memberOfBoth = {
  ...caller,
  memberships: new Map([workspaceId, elsewhere].map((id) => [id, membershipAs("member")] as const)),
};
const byOther = { ...lookup, callerDigest: "another caller" };
const byMember = { ...lookup, callerDigest: undefined, workspaceId };

describe("the only copy", () => {
  beforeEach(() => cache.set(lookup, found));

  test("is shared by all callers in its workspace, and by members without an API key", () => {
    expect(cache.get(byOther, { ...caller, version: 7 })).toEqual([known]);
    expect(cache.get(byMember, undefined)).toEqual([known]);
  });

  test("is forgotten when a lookup finds that it is no longer the only one", () => {
    cache.set(byOther, { keys: [copyElsewhere], isOnly: false, caller: memberOfBoth });
    expect(cache.get(byOther, memberOfBoth)).toEqual([copyElsewhere]);
    expect(cache.has(lookup, caller)).toBe(false);
  });

  test("must be looked up by a caller in another workspace", () => {
    expect(cache.get(byOther, { ...caller, memberships: new Map() })).toBeUndefined();
    expect(cache.has(byOther, { ...caller, memberships: new Map() })).toBe(false);
  });

  test.each<[string, Partial<CopyLookup>, boolean]>([
    ["its workspace", { workspaceId }, true],
    ["another workspace", { workspaceId: elsewhere }, false],
    ["its keyspace", { keyspaceId }, true],
    ["another keyspace", { keyspaceId: otherKeyspace }, false],
    ["its keyspace and another workspace", { workspaceId: elsewhere, keyspaceId }, false],
  ])("is found in %s: %j", (_place, place, isFound) => {
    expect(cache.get({ ...lookup, ...place }, memberOfBoth)).toEqual(isFound ? [known] : undefined);
  });

  test("is remembered until it is forgotten, and must be read again after an invalidation", () => {
    cache.invalidate();
    expect([cache.get(lookup, caller), cache.has(lookup, caller)]).toEqual([undefined, true]);
    cache.delete(lookup);
    expect(cache.has(lookup, caller)).toBe(false);
  });
});

describe("copies that were found for one caller", () => {
  const copies = [copyElsewhere, known];
  beforeEach(() => cache.set(lookup, { keys: copies, isOnly: false, caller: memberOfBoth }));

  test("are remembered for this caller, while its versions stay the same", () => {
    expect(cache.get(lookup, memberOfBoth)).toBe(copies);
    expect(cache.get(lookup, { ...memberOfBoth, version: 7 })).toBeUndefined();
    expect(cache.get(lookup, { ...memberOfBoth, ownerVersion: 7 })).toBeUndefined();
    expect(cache.get(lookup, undefined)).toBeUndefined();
  });

  test("must be looked up if the caller may no longer reach one of them", () => {
    expect(cache.get(lookup, caller)).toBeUndefined();
  });

  test.each<[string, Partial<CopyLookup>]>([
    ["another secret", { digest: "another digest" }],
    ["another caller", { callerDigest: "another caller" }],
    ["a member without an API key", { callerDigest: undefined }],
    ["one workspace", { workspaceId }],
    ["one keyspace", { keyspaceId }],
  ])("aren't those of %s", (_what, change) => {
    expect(cache.get({ ...lookup, ...change }, memberOfBoth)).toBeUndefined();
  });

  test("are remembered for each workspace and each keyspace that a lookup names", () => {
    const lookups = [
      { ...lookup, workspaceId },
      { ...lookup, workspaceId: elsewhere },
      { ...lookup, keyspaceId },
      { ...lookup, keyspaceId: otherKeyspace },
    ];
    const keyOf = (index: number) => [index % 2 === 0 ? known : copyElsewhere];
    for (const [index, place] of lookups.entries())
      cache.set(place, { keys: keyOf(index), isOnly: false, caller: memberOfBoth });
    for (const [index, place] of lookups.entries())
      expect(cache.get(place, memberOfBoth)).toEqual(keyOf(index));
  });

  test("are remembered until they are forgotten", () => {
    cache.delete(lookup);
    expect(cache.has(lookup, memberOfBoth)).toBe(false);
  });

  test("are forgotten if a later lookup finds none", () => {
    cache.set(lookup, { keys: [], isOnly: false, caller: memberOfBoth });
    expect(cache.has(lookup, memberOfBoth)).toBe(false);
  });

  test("are forgotten if the caller's key no longer exists", () => {
    cache.set(lookup, { keys: copies, isOnly: false, caller: undefined });
    expect(cache.has(lookup, memberOfBoth)).toBe(false);
  });
});

describe("copies that were found for a caller that was idle in a workspace", () => {
  const idleIn = (id: WorkspaceId, change: Partial<Membership> = {}) => ({
    ...memberOfBoth,
    memberships: new Map([
      ...memberOfBoth.memberships,
      [id, membershipAs("member", { violation: "idle", ...change })],
    ]),
  });
  const getAs = (finder: typeof memberOfBoth) => {
    cache.set(lookup, { keys: [copyElsewhere, known], isOnly: false, caller: finder });
    return [cache.get(lookup, finder), cache.has(lookup, finder)];
  };

  test("must be looked up if it was the workspace of the oldest one, even if an operator disabled the workspace", () => {
    expect(getAs(idleIn(elsewhere))).toEqual([undefined, false]);
    expect(getAs(idleIn(elsewhere, { isWorkspaceDisabled: true }))).toEqual([undefined, false]);
  });

  test("are remembered up to the one in this workspace", () => {
    expect(getAs(idleIn(workspaceId))).toEqual([[copyElsewhere], true]);
  });

  test.each<[string, Partial<Membership>]>([
    ["has a role that can't verify keys", { role: "viewer" }],
    ["is blocked", { isBlocked: true }],
    ["violates the policy", { violation: "expiry-required" }],
  ])("must be looked up if the caller %s in the workspaces of all older ones", (_why, change) => {
    const finder = idleIn(workspaceId);
    const memberships = new Map([...finder.memberships, [elsewhere, membershipAs("member", change)]]);
    expect(getAs({ ...finder, memberships })).toEqual([undefined, false]);
  });

  test.each<[string, Partial<Membership>]>([
    ["has a role that can't verify keys", { role: "viewer" }],
    ["is blocked", { isBlocked: true }],
    ["violates another rule of the policy", { violation: "expiry-required" }],
  ])("are all remembered if the caller also %s there", (_why, change) => {
    expect(getAs(idleIn(elsewhere, change))).toEqual([[copyElsewhere, known], true]);
  });

  test("must be looked up if it is the only one", () => {
    const idle = idleIn(workspaceId);
    cache.set(lookup, { ...found, caller: idle });
    expect([cache.get(lookup, idle), cache.has(lookup, idle)]).toEqual([undefined, false]);
    expect(cache.get(byOther, caller)).toEqual([known]);
    expect(cache.get(byMember, undefined)).toEqual([known]);
  });
});

test("copies aren't remembered if a lookup may have left some out", () => {
  const keys = Array<VerifiableKey>(maxCopies).fill(known);
  cache.set(lookup, { keys: keys.slice(1), isOnly: false, caller });
  expect(cache.get(lookup, caller)).toHaveLength(maxCopies - 1);
  cache.set(lookup, { keys, isOnly: false, caller });
  expect([cache.get(lookup, caller), cache.has(lookup, caller)]).toEqual([undefined, false]);
});

describe("the memory of a copy is bounded", () => {
  /** Whether a cache of 10,000 bytes remembers a key with this many bytes of data. */
  const isRemembered = (change: Partial<VerifiableKey>, count = 1): boolean => {
    const small = new CopiesCache(10_000);
    small.set(lookup, { ...found, keys: Array(count).fill({ ...plainKey, ...change }) });
    return small.has(lookup, caller);
  };

  test("by the number of copies", () => {
    expect([isRemembered({}, 6), isRemembered({}, 7)]).toEqual([true, false]);
  });

  test("by the data of the key, which also is in results as JSON", () => {
    const long = (length: number) => "x".repeat(length);
    const limit = { quota: 1, windowSeconds: 1, appliesAlways: true };
    expect([isRemembered({ meta: { a: long(2_700) } }), isRemembered({ meta: { a: long(2_900) } })]).toEqual([
      true,
      false,
    ]);
    expect(isRemembered({ name: long(2_900) })).toBe(false);
    expect(isRemembered({ permissions: [long(1_350)] })).toBe(true);
    expect(isRemembered({ permissions: [long(1_450)] })).toBe(false);
    expect(isRemembered({ limits: [{ ...limit, name: long(2_900) }] })).toBe(false);
    const short = (length: number) => Array<string>(length).fill("a");
    expect([65, 70].map((length) => isRemembered({ permissions: short(length) }))).toEqual([true, false]);
  });

  test("by the number of its IP ranges", () => {
    expect([isRemembered({ ipRangeCount: 27 }), isRemembered({ ipRangeCount: 29 })]).toEqual([true, false]);
  });
});
