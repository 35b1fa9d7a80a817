import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type pg from "pg";
import { checkKey, haveSameVersions, type KeyFacts, type Membership } from "../admission/decision.ts";
import { FactsCache } from "../admission/facts-cache.ts";
import { toApiKeyTarget } from "./api-key-target.ts";
import { type FoundKeys, findTarget } from "./decide-verification.ts";
import { FairCache } from "./fair-cache.ts";
import { type ApiKeyLookup, findApiKeys, findCandidates } from "./statements.ts";
import type { VerifiableKey } from "./verifiable-key.ts";
import type { Verification } from "./verification.ts";

/** The keys that a request presents. */
export interface RequestedKeys {
  /** SHA-256 of the caller's key, in base64; undefined for a member who verifies without a key. */
  readonly digest: string | undefined;
  /** The caller's IP address; undefined if it is not known. */
  readonly address: string | undefined;
  readonly verifications: readonly Verification[];
}

/** A request with the facts about its keys. */
export interface FoundRequest<Request> extends FoundKeys {
  readonly pending: Request;
}

/**
 * Finds the facts about the keys of requests, and remembers those of keys that were found. Remembered facts alone decide
 * nothing: the versions are compared with the locked rows. That no key was found is never remembered, because no row would
 * confirm it. When the directory is full, a workspace with many keys displaces its own (see {@link FairCache}).
 */
export class KeyDirectory<Request extends RequestedKeys> {
  readonly #apiKeys: FactsCache;
  /** The keys of each digest, oldest first. */
  readonly #issuedKeys: FairCache<readonly VerifiableKey[]>;

  /**
   * @param capacity the most API keys with their memberships.
   * @param maxIssuedBytes the most memory for issued keys.
   */
  constructor(capacity: number, maxIssuedBytes = defaultIssuedBytes) {
    this.#apiKeys = new FactsCache(capacity);
    this.#issuedKeys = new FairCache(maxIssuedBytes);
  }

  /** Whether the API key was allowed once. */
  hasApiKey(digest: string): boolean {
    return this.#apiKeys.has(digest);
  }

  /** How many of these verifications are about a key that isn't remembered, and cost a lookup. */
  countLookups(verifications: readonly Verification[]): number {
    let count = 0;
    for (const { digest, isApiKey } of verifications) {
      if (digest === undefined) continue;
      if (!(isApiKey ? this.#apiKeys.has(digest) : this.#issuedKeys.has(digest))) count += 1;
    }
    return count;
  }

  /** The owner of an API key that was allowed once; undefined if it isn't remembered. */
  ownerOf(digest: string): UserId | undefined {
    return this.#apiKeys.get(digest)?.userId;
  }

  /** Invalidates all facts. */
  invalidate(): void {
    this.#apiKeys.invalidate();
    this.#issuedKeys.clear();
  }

  /** Forgets the facts about the keys of a request, because some of them have changed. */
  forget({ digest, verifications }: RequestedKeys): void {
    if (digest !== undefined) this.#apiKeys.delete(digest);
    for (const verification of verifications) {
      if (verification.digest === undefined) continue;
      this.#apiKeys.delete(verification.digest);
      this.#issuedKeys.delete(verification.digest);
    }
  }

  /** Finds the keys of requests. `unknown` are those whose caller's key doesn't exist. @throws what the driver throws. */
  async find(
    client: pg.Client,
    requests: readonly Request[],
  ): Promise<{ readonly found: readonly FoundRequest<Request>[]; readonly unknown: readonly Request[] }> {
    const remembered = { apiKeys: this.#apiKeys, issuedKeys: this.#issuedKeys };
    const found: FoundRequest<Request>[] = [];
    const unknown: Request[] = [];
    const incomplete: Request[] = [];
    /** Issued keys that were found by remembered facts, which may be displaced while the others are read. */
    const known = new Map<string, readonly VerifiableKey[]>();
    const missing: string[] = [];
    for (const request of requests) {
      const keys = findKeys(request, remembered);
      if (keys?.targets.every((facts) => facts !== undefined)) found.push(keys);
      else {
        incomplete.push(request);
        for (const [index, { digest, isApiKey }] of request.verifications.entries()) {
          if (digest === undefined || isApiKey) continue;
          if (keys?.targets[index]) known.set(digest, this.#issuedKeys.get(digest) ?? []);
          else missing.push(digest);
        }
      }
    }
    for (const digest of missing) known.delete(digest);
    // An unknown key among many costs one lookup. If the caller's current facts lead to another result, all keys of the request
    // are read: remembered facts never prove that a key is not found.
    for (const kept of [known, new Map<string, never>()]) {
      if (incomplete.length === 0) break;
      const read = await this.#read(client, incomplete, kept);
      for (const request of incomplete.splice(0)) {
        const keys = findKeys(request, read);
        if (!keys) unknown.push(request);
        else if (isFoundIn(keys, kept)) found.push(keys);
        else incomplete.push(request);
      }
    }
    return { found, unknown };
  }

  /**
   * Reads the facts about the keys of requests, except issued keys that are `known`, and remembers them. The callers' keys come
   * first, so that a forged one costs one lookup, whatever its request contains.
   */
  async #read(
    client: pg.Client,
    requests: readonly Request[],
    known: ReadonlyMap<string, readonly VerifiableKey[]>,
  ): Promise<KnownKeys> {
    const callers = await this.#readApiKeys(
      client,
      requests.flatMap(({ digest }) => (digest === undefined ? [] : [{ digest, workspaceId: undefined }])),
    );
    const admitted = requests.filter(({ digest }) => digest === undefined || callers.has(digest));
    const verifications = admitted.flatMap((request) => request.verifications);
    const digests = [
      ...new Set(
        verifications.flatMap(({ digest, isApiKey }) =>
          digest === undefined || isApiKey || known.has(digest) ? [] : [digest],
        ),
      ),
    ];
    const candidates = digests.length > 0 ? await findCandidates(client, digests) : [];
    const read = new Map(digests.map((digest, index) => [digest, candidates[index] ?? []]));
    for (const [digest, keys] of read) this.#remember(digest, keys);
    const issuedKeys = new Map([...known, ...read]);
    const lookups = admitted.flatMap((request) => listLookups(request, issuedKeys));
    const inWorkspaces = await this.#readApiKeys(client, lookups);
    return { apiKeys: new Map([...callers, ...inWorkspaces]), issuedKeys };
  }

  async #readApiKeys(
    client: pg.Client,
    requested: readonly ApiKeyLookup[],
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

  /** Counts keys to the workspace of the oldest one. Others can store a key again only if they know it. */
  #remember(digest: string, keys: readonly VerifiableKey[]): void {
    const [oldest] = keys;
    // A secret is unused until its first use, which doesn't change the key's version.
    const isLasting = keys.every(({ isUnusedSecret }) => !isUnusedSecret);
    if (oldest && isLasting)
      this.#issuedKeys.set(digest, keys, { owner: oldest.workspaceId, bytes: sizeOf(keys) });
    else this.#issuedKeys.delete(digest);
  }
}

/** The most memory for the facts about issued keys, in bytes: about 65,000 keys without data of their own. */
const defaultIssuedBytes = 100 * 1024 * 1024;

/**
 * The approximate size of facts about keys, in bytes, with what results say about them, also as text. A key's own data can be much
 * larger than the rest.
 */
function sizeOf(keys: readonly VerifiableKey[]): number {
  let size = 0;
  for (const { name, meta, permissions, limits, consumer } of keys)
    size += 1_500 + 3 * JSON.stringify([name, meta, permissions, permissions, limits, consumer]).length;
  return size;
}

/** The facts about keys, by the digests of their secrets. */
interface KnownKeys {
  readonly apiKeys: { readonly get: (digest: string) => KeyFacts | undefined };
  readonly issuedKeys: { readonly get: (digest: string) => readonly VerifiableKey[] | undefined };
}

/** Finds the keys that a request is about; undefined if the caller has a key that is unknown. */
function findKeys<Request extends RequestedKeys>(
  pending: Request,
  known: KnownKeys,
): FoundRequest<Request> | undefined {
  const { digest, address, verifications } = pending;
  const caller = digest === undefined ? undefined : known.apiKeys.get(digest);
  if (digest !== undefined && !caller) return undefined;
  const targets = verifications.map((verification) =>
    findTarget(verification, { caller, address, candidates: listCandidates(verification, known) }),
  );
  return { pending, address, caller, verifications, targets };
}

/** Whether a request has a key for each verification whose keys were not read again. */
function isFoundIn(
  { verifications, targets }: FoundKeys,
  known: ReadonlyMap<string, readonly VerifiableKey[]>,
): boolean {
  return verifications.every(
    ({ digest }, index) => digest === undefined || targets[index] !== undefined || !known.has(digest),
  );
}

/** The keys that a verification can mean. An API key is verified only in a workspace that the request names. */
function listCandidates(
  { digest, isApiKey, workspaceId }: Verification,
  { apiKeys, issuedKeys }: KnownKeys,
): readonly VerifiableKey[] {
  if (digest === undefined) return [];
  if (!isApiKey) return issuedKeys.get(digest) ?? [];
  const facts = workspaceId && apiKeys.get(digest);
  const target = facts && toApiKeyTarget(facts, workspaceId);
  return target ? [target] : [];
}

/** The caller's key and the API keys to verify, each with its membership in every workspace that the request may be about. */
function listLookups(
  { digest: callerDigest, verifications }: RequestedKeys,
  issuedKeys: ReadonlyMap<string, readonly VerifiableKey[]>,
): ApiKeyLookup[] {
  const lookups: ApiKeyLookup[] = [];
  const lookUpCaller = (workspaceId: WorkspaceId) => {
    if (callerDigest !== undefined) lookups.push({ digest: callerDigest, workspaceId });
  };
  for (const { digest, isApiKey, workspaceId } of verifications) {
    if (digest === undefined) continue;
    if (isApiKey && workspaceId) {
      lookups.push({ digest, workspaceId });
      lookUpCaller(workspaceId);
    }
    for (const key of issuedKeys.get(digest) ?? []) lookUpCaller(key.workspaceId);
  }
  return lookups;
}

/** Adds up the memberships of each API key. */
function mergeFacts(
  lookups: readonly ApiKeyLookup[],
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
