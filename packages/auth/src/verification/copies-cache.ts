import { haveSameVersions, type KeyFacts, type KeyVersions, type Membership } from "../admission/decision.ts";
import { FairCache } from "../fair-cache.ts";
import { bytesPerIpRange } from "../ip-ranges.ts";
import { roleHasPermission } from "../permissions.ts";
import { type CopyLookup, type FoundCopies, maxCopies } from "./find-copies.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

/** The caller of a lookup; undefined for a member without an API key. */
type Caller = (KeyVersions & Pick<KeyFacts, "memberships">) | undefined;

interface RememberedCopies {
  readonly keys: readonly VerifiableKey[];
  /** The versions of the caller whose lookup found them; undefined for the only copy, which all callers share. */
  readonly caller: KeyVersions | undefined;
}

/**
 * Remembers copies of secrets. Usually there is only one, which all callers share. If several workspaces store a secret, the copies
 * that a lookup found are remembered for its caller and the named workspace or keyspace, until the caller's versions change. When
 * the cache is full, a workspace with many keys displaces its own (see {@link FairCache}).
 */
export class CopiesCache {
  readonly #copies: FairCache<RememberedCopies>;

  /** @param maxBytes the most memory. */
  constructor(maxBytes: number) {
    this.#copies = new FairCache(maxBytes);
  }

  /**
   * The copies that a lookup of this caller would find, oldest first, without those that {@link beforeIdle} leaves out; undefined if
   * they must be looked up.
   */
  get(lookup: CopyLookup, caller: Caller): readonly VerifiableKey[] | undefined {
    return findReached(lookup, caller, (name) => this.#copies.get(name));
  }

  /** Whether copies are remembered for this caller, even if they are from before an invalidation. */
  has(lookup: CopyLookup, caller: Caller): boolean {
    return findReached(lookup, caller, (name) => this.#copies.peek(name)) !== undefined;
  }

  /**
   * Remembers the copies that a lookup found. An empty result is not remembered, because no row would confirm it. A result of
   * {@link maxCopies} isn't remembered either: a lookup prefers copies that the caller may verify, so an older one in a workspace where
   * the caller is idle may be missing (see {@link beforeIdle}).
   *
   * When another node counts the first use of a secret, the version doesn't change, so this node still remembers the secret as unused.
   * Its next use on this node then marks it as used again, which changes nothing.
   */
  set(lookup: CopyLookup, { keys, isOnly, caller }: FoundCopies): void {
    const name = isOnly ? lookup.digest : nameOf(lookup);
    const [oldest] = keys;
    const finder = isOnly ? undefined : caller && versionsOf(caller);
    // The copy that is remembered under this name is no longer the only one, and it would be read before those of each caller. A lookup
    // that finds nothing doesn't prove this.
    if (oldest && !isOnly) this.#copies.delete(lookup.digest);
    if (oldest && keys.length < maxCopies && (isOnly || finder))
      this.#copies.set(name, { keys, caller: finder }, { owner: oldest.workspaceId, size: sizeOf(keys) });
    else this.#copies.delete(name);
  }

  /**
   * Replaces facts about a key with later ones of the same version, unless they were forgotten or invalidated, or other facts
   * have replaced them.
   */
  replace(lookup: CopyLookup, known: VerifiableKey, later: VerifiableKey): void {
    for (const name of [lookup.digest, nameOf(lookup)]) {
      const copies = this.#copies.peek(name);
      if (!copies?.keys.includes(known)) continue;
      const keys = copies.keys.map((key) => (key === known ? later : key));
      this.#copies.replace(name, { ...copies, keys });
    }
  }

  delete(lookup: CopyLookup): void {
    this.#copies.delete(lookup.digest);
    this.#copies.delete(nameOf(lookup));
  }

  /** Invalidates everything. */
  invalidate(): void {
    this.#copies.invalidate();
  }
}

/** Finds the copies of a lookup that this caller reaches. @param read returns the copies that are remembered under a name. */
function findReached(
  lookup: CopyLookup,
  caller: Caller,
  read: (name: string) => RememberedCopies | undefined,
): readonly VerifiableKey[] | undefined {
  const shared = read(lookup.digest);
  if (shared && reachesAll(shared, lookup, caller)) return beforeIdle(shared.keys, caller);
  const own = read(nameOf(lookup));
  return own && reachesAll(own, lookup, caller) ? beforeIdle(own.keys, caller) : undefined;
}

/**
 * The copies that are older than the first one in a workspace where the caller was idle. If the caller was idle in no workspace, returns
 * all copies. If it may verify none of the older ones, returns undefined. Remembered facts must not let a newer copy decide: another
 * node can write a use from before the caller became idle after the facts were read, and a use doesn't change the versions of the
 * caller (docs/decisions/0041).
 */
function beforeIdle(keys: readonly VerifiableKey[], caller: Caller): readonly VerifiableKey[] | undefined {
  if (!caller) return keys;
  const isVerifier = ({ workspaceId }: VerifiableKey, violation: Membership["violation"]) => {
    const membership = caller.memberships.get(workspaceId);
    return membership?.violation === violation && mayVerify(membership);
  };
  const index = keys.findIndex((key) => isVerifier(key, "idle"));
  if (index < 0) return keys;
  const older = keys.slice(0, index);
  return older.some((key) => isVerifier(key, null)) ? older : undefined;
}

/** Whether only a violation of the policy can keep the caller from verifying keys of the workspace, or an operator who disabled it. */
function mayVerify({ isBlocked, role }: Membership): boolean {
  return !isBlocked && roleHasPermission(role, "keys:verify");
}

/**
 * Whether a lookup of the caller would find all of these copies, including one in the workspace or keyspace that it names. A copy
 * whose workspace isn't among the known memberships may be the oldest one that the caller reaches, so the lookup must be made.
 */
function reachesAll(
  { keys, caller: finder }: RememberedCopies,
  { workspaceId, keyspaceId }: CopyLookup,
  caller: Caller,
): boolean {
  if (finder && !(caller && haveSameVersions(finder, caller))) return false;
  if (caller && !keys.every((key) => caller.memberships.has(key.workspaceId))) return false;
  return keys.some(
    (key) =>
      (workspaceId === undefined || key.workspaceId === workspaceId) &&
      (keyspaceId === undefined || key.keyspaceId === keyspaceId),
  );
}

function versionsOf({ version, ownerVersion }: KeyVersions): KeyVersions {
  return { version, ownerVersion };
}

/** The name of a lookup, which differs for each caller and each named workspace or keyspace. */
export function nameOf({ digest, callerDigest, workspaceId, keyspaceId }: CopyLookup): string {
  return `${digest} ${callerDigest ?? ""} ${workspaceId ?? ""} ${keyspaceId ?? ""}`;
}

/**
 * The approximate memory of facts about keys, in bytes, including the description of each key in results and its JSON. Most of it
 * can be data that the workspace stores with the key (`meta`).
 */
function sizeOf(keys: readonly VerifiableKey[]): number {
  let size = 0;
  for (const { name, meta, permissions, limits, consumer, ipRangeCount } of keys) {
    const data = JSON.stringify([name, meta, permissions, permissions, limits, consumer]);
    // A set and an array refer to each permission.
    size += 1_500 + 3 * data.length + 100 * permissions.length + bytesPerIpRange * ipRangeCount;
  }
  return size;
}
