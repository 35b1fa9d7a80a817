import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type pg from "pg";
import { checkKey, haveSameVersions, type KeyFacts, type Membership } from "../admission/decision.ts";
import { FactsCache } from "../admission/facts-cache.ts";
import type { KeyLookup } from "../admission/resolve-statement.ts";
import { CopiesCache, nameOf } from "./copies-cache.ts";
import { type CopyLookup, type FoundCopies, findCopies } from "./find-copies.ts";
import {
  type FoundRequest,
  findTargets,
  isIncomplete,
  type KnownKeys,
  type RequestedKeys,
  toLookup,
} from "./find-targets.ts";
import type { DecidedBatch } from "./spend-batch.ts";
import { findApiKeys } from "./statements.ts";
import type { Verification } from "./verification.ts";

/**
 * Finds the facts about the keys of requests, and remembers those of keys that were found. Remembered facts alone decide
 * nothing: the versions are compared with the locked rows. That no key was found is never remembered, because no row would
 * confirm it.
 */
export class KeyDirectory<Request extends RequestedKeys> {
  readonly #apiKeys: FactsCache;
  readonly #copies: CopiesCache;
  readonly #remembered: KnownKeys;

  /**
   * @param capacity the most API keys with their memberships.
   * @param maxIssuedBytes the most memory for issued keys.
   */
  constructor(capacity: number, maxIssuedBytes = defaultIssuedBytes) {
    this.#apiKeys = new FactsCache(capacity);
    this.#copies = new CopiesCache(maxIssuedBytes);
    this.#remembered = {
      findApiKey: (digest, workspaceId) => {
        const facts = this.#apiKeys.get(digest);
        return facts && !isIdle(facts, workspaceId) ? facts : undefined;
      },
      findCopies: (lookup, caller) => this.#copies.get(lookup, caller),
    };
  }

  /** Whether the API key was allowed once. */
  hasApiKey(digest: string): boolean {
    return this.#apiKeys.has(digest);
  }

  /**
   * How many keys of a request, with the caller's, aren't remembered, and cost a lookup. Keys from before an invalidation count
   * as remembered, although they are read again.
   */
  countLookups({ digest, verifications }: Pick<RequestedKeys, "digest" | "verifications">): number {
    const caller = digest === undefined ? undefined : this.#apiKeys.peek(digest);
    let count = digest === undefined || caller ? 0 : 1;
    for (const verification of verifications) {
      if (verification.digest === undefined) continue;
      const isRemembered = verification.isApiKey
        ? this.#isApiKeyRemembered(verification.digest, verification.workspaceId)
        : this.#copies.has(toLookup(verification, verification.digest, digest), caller);
      if (!isRemembered) count += 1;
    }
    return count;
  }

  #isApiKeyRemembered(digest: string, workspaceId: WorkspaceId | undefined): boolean {
    const facts = this.#apiKeys.peek(digest);
    return facts !== undefined && !(workspaceId && isIdle(facts, workspaceId));
  }

  /** The owner of an API key that was allowed once; undefined if it isn't remembered. */
  ownerOf(digest: string): UserId | undefined {
    return this.#apiKeys.peek(digest)?.userId;
  }

  /** Invalidates all facts. */
  invalidate(): void {
    this.#apiKeys.invalidate();
    this.#copies.invalidate();
  }

  /** Forgets the facts about the keys of a request, because some of them have changed. */
  forget({ digest: callerDigest, verifications }: RequestedKeys): void {
    if (callerDigest !== undefined) this.#apiKeys.delete(callerDigest);
    for (const verification of verifications) {
      const { digest } = verification;
      if (digest === undefined) continue;
      this.#apiKeys.delete(digest);
      this.#copies.delete(toLookup(verification, digest, callerDigest));
    }
  }

  /**
   * Remembers that the first uses of keys of an admitted request, and of their new secrets, were committed, so that later ones need
   * no other lookup. The facts were current when the counters were locked. If a key has changed since, the next use finds another
   * version, as with all remembered facts.
   */
  rememberFirstUses(
    { pending, targets }: FoundRequest<Request>,
    { firstUsed, counters }: Pick<DecidedBatch<unknown>, "firstUsed" | "counters">,
  ): void {
    for (const [index, facts] of targets.entries()) {
      const verification = pending.verifications[index];
      if (!facts || verification?.digest === undefined) continue;
      const isInUse = facts.isInUse || firstUsed.has(facts.keyId);
      const isUnusedSecret = facts.isUnusedSecret && !counters.get(facts.keyId)?.isSecretUsed;
      if (isInUse === facts.isInUse && isUnusedSecret === facts.isUnusedSecret) continue;
      const lookup = toLookup(verification, verification.digest, pending.digest);
      this.#copies.replace(lookup, facts, { ...facts, isInUse, isUnusedSecret });
    }
  }

  /**
   * Finds the keys of requests. `unknown` are those whose caller's key doesn't exist. Reads the callers' keys first, so that a forged
   * one costs one lookup, whatever its request contains, and then the keys to verify. How many statements it takes doesn't depend
   * on whether these keys exist.
   * @throws what the driver throws.
   */
  async find(
    client: pg.Client,
    requests: readonly Request[],
  ): Promise<{ readonly found: readonly FoundRequest<Request>[]; readonly unknown: readonly Request[] }> {
    const callers = await this.#findCallers(client, requests);
    const [found, unknown]: [FoundRequest<Request>[], Request[]] = [[], []];
    for (const request of requests) {
      const caller = request.digest === undefined ? undefined : callers.get(request.digest);
      if (request.digest !== undefined && !caller) unknown.push(request);
      else found.push(findTargets(request, caller, this.#remembered));
    }
    // A verification for which no remembered key was found is looked up, because remembered facts never prove that there is none.
    const missing = found.flatMap(({ pending, targets }) =>
      pending.verifications.flatMap((verification, index) =>
        verification.digest === undefined || targets[index]
          ? []
          : [{ verification, lookup: toLookup(verification, verification.digest, pending.digest) }],
      ),
    );
    if (missing.length === 0) return { found, unknown };
    const read = await this.#read(client, missing, callers);
    return {
      found: found.map((request) => {
        const { pending, targets } = request;
        if (!isIncomplete(request)) return request;
        const caller = pending.digest === undefined ? undefined : callers.get(pending.digest);
        const again = findTargets(pending, caller, read);
        // Those that were found by remembered facts are not read again.
        return { ...again, targets: again.targets.map((facts, index) => targets[index] ?? facts) };
      }),
      unknown,
    };
  }

  /** Finds the callers' keys. Those that are remembered are not read: whether they have changed is checked when they are locked. */
  async #findCallers(client: pg.Client, requests: readonly Request[]): Promise<Map<string, KeyFacts>> {
    const callers = new Map<string, KeyFacts>();
    const lookups: KeyLookup[] = [];
    for (const { digest } of requests) {
      if (digest === undefined || callers.has(digest)) continue;
      const remembered = this.#apiKeys.get(digest);
      if (remembered) callers.set(digest, remembered);
      else lookups.push({ digest, workspaceId: undefined });
    }
    for (const [digest, facts] of await this.#readApiKeys(client, lookups)) callers.set(digest, facts);
    return callers;
  }

  /** Looks keys up, remembers them, and adds the memberships that decide about them to the facts of the callers. */
  async #read(
    client: pg.Client,
    missing: readonly { readonly verification: Verification; readonly lookup: CopyLookup }[],
    callers: Map<string, KeyFacts>,
  ): Promise<KnownKeys> {
    const copyLookups = new Map<string, CopyLookup>();
    const apiKeyLookups: KeyLookup[] = [];
    for (const { verification, lookup } of missing) {
      const { digest, callerDigest, workspaceId } = lookup;
      if (!verification.isApiKey) copyLookups.set(nameOf(lookup), lookup);
      else if (workspaceId) {
        apiKeyLookups.push({ digest, workspaceId });
        if (callerDigest !== undefined) apiKeyLookups.push({ digest: callerDigest, workspaceId });
      }
    }
    const [copies, apiKeys] = await Promise.all([
      this.#readCopies(client, copyLookups),
      this.#readApiKeys(client, apiKeyLookups),
    ]);
    const reached = [...copies.values()].map(({ lookup, caller }) => [lookup.callerDigest, caller] as const);
    for (const [digest, facts] of [...reached, ...apiKeys])
      if (digest !== undefined && facts) this.#addMemberships(callers, digest, facts);
    return {
      findApiKey: (digest) => apiKeys.get(digest),
      findCopies: (lookup) => copies.get(nameOf(lookup))?.keys,
    };
  }

  async #readCopies(client: pg.Client, lookups: ReadonlyMap<string, CopyLookup>) {
    const copies = new Map<string, FoundCopies & { readonly lookup: CopyLookup }>();
    if (lookups.size === 0) return copies;
    const found = await findCopies(client, [...lookups.values()]);
    for (const [index, [name, lookup]] of [...lookups].entries()) {
      const ofLookup = found[index];
      if (!ofLookup) continue;
      this.#copies.set(lookup, ofLookup);
      copies.set(name, { ...ofLookup, lookup });
    }
    return copies;
  }

  async #readApiKeys(
    client: pg.Client,
    requested: readonly KeyLookup[],
  ): Promise<ReadonlyMap<string, KeyFacts>> {
    if (requested.length === 0) return new Map();
    const lookups = [
      ...new Map(requested.map((lookup) => [`${lookup.digest} ${lookup.workspaceId}`, lookup])).values(),
    ];
    const apiKeys = mergeFacts(lookups, await findApiKeys(client, lookups));
    for (const { digest } of lookups) {
      const facts = apiKeys.get(digest);
      // A secret is unused until its first use, which doesn't change the key's version.
      if (facts && !facts.isUnusedSecret && checkKey(facts).kind === "allowed")
        this.#apiKeys.set(digest, facts);
      else this.#apiKeys.delete(digest);
    }
    return apiKeys;
  }

  /**
   * Adds memberships to the facts of a caller. Those that were read with other versions are left out: the facts are outdated then,
   * which is noticed when the request is decided.
   */
  #addMemberships(
    callers: Map<string, KeyFacts>,
    digest: string,
    read: NonNullable<FoundCopies["caller"]>,
  ): void {
    const caller = callers.get(digest);
    if (!caller || read.memberships.size === 0 || !haveSameVersions(caller, read)) return;
    const facts = { ...caller, memberships: new Map([...caller.memberships, ...read.memberships]) };
    callers.set(digest, facts);
    const remembered = this.#apiKeys.get(digest);
    if (remembered && haveSameVersions(remembered, facts)) this.#apiKeys.set(digest, facts);
  }
}

/**
 * Whether a key was idle in a workspace when its facts were read. Such facts are read again for each verification: another node may
 * write a use from before that time up to a second later, and a use doesn't change the version of the key.
 */
function isIdle({ memberships }: KeyFacts, workspaceId: WorkspaceId): boolean {
  return memberships.get(workspaceId)?.violation === "idle";
}

/** The most memory for the facts about issued keys, in bytes: about 65,000 keys without data of their own. */
const defaultIssuedBytes = 100 * 1024 * 1024;

/** Adds up the memberships of each API key. */
function mergeFacts(
  lookups: readonly KeyLookup[],
  found: readonly (KeyFacts | undefined)[],
): ReadonlyMap<string, KeyFacts> {
  const merged = new Map<string, KeyFacts & { readonly memberships: Map<WorkspaceId, Membership> }>();
  for (const [index, { digest }] of lookups.entries()) {
    const facts = found[index];
    if (!facts) continue;
    const known = merged.get(digest);
    if (known && haveSameVersions(known, facts))
      for (const [workspaceId, membership] of facts.memberships)
        known.memberships.set(workspaceId, membership);
    else merged.set(digest, { ...facts, memberships: new Map(facts.memberships) });
  }
  return merged;
}
