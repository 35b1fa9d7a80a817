import type { WorkspaceId } from "@latchkey/db/ids";
import type { KeyFacts } from "../admission/decision.ts";
import { toApiKeyTarget } from "./api-key-target.ts";
import { type FoundKeys, findTarget } from "./decide-request.ts";
import type { CopyLookup } from "./find-copies.ts";
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

/** The facts about keys that are remembered or were read. */
export interface KnownKeys {
  /** The API key that a digest belongs to, with the membership in this workspace if its user is a member. */
  readonly findApiKey: (digest: string, workspaceId: WorkspaceId) => KeyFacts | undefined;
  /** The copies that a lookup of the caller finds. */
  readonly findCopies: (
    lookup: CopyLookup,
    caller: KeyFacts | undefined,
  ) => readonly VerifiableKey[] | undefined;
}

/** What to look up to verify a key. @param digest the digest of that key. */
export function toLookup(
  { workspaceId, keyspaceId }: Verification,
  digest: string,
  callerDigest: string | undefined,
): CopyLookup {
  return { digest, callerDigest, workspaceId, keyspaceId };
}

/** Finds the keys that a request is about. */
export function findTargets<Request extends RequestedKeys>(
  pending: Request,
  caller: KeyFacts | undefined,
  known: KnownKeys,
): FoundRequest<Request> {
  const { digest: callerDigest, address, verifications } = pending;
  const targets = verifications.map((verification) => {
    const { digest } = verification;
    if (digest === undefined) return undefined;
    const candidates = verification.isApiKey
      ? listApiKeys(verification, digest, known)
      : (known.findCopies(toLookup(verification, digest, callerDigest), caller) ?? []);
    return findTarget(verification, { caller, address, candidates });
  });
  return { pending, address, caller, verifications, targets };
}

/** An API key is verified only in a workspace that the request names. */
function listApiKeys(
  { workspaceId }: Verification,
  digest: string,
  { findApiKey }: KnownKeys,
): readonly VerifiableKey[] {
  const facts = workspaceId && findApiKey(digest, workspaceId);
  const target = facts && toApiKeyTarget(facts, workspaceId);
  return target ? [target] : [];
}

/** Whether a verification has no key yet. */
export function isIncomplete({ verifications, targets }: FoundKeys): boolean {
  return verifications.some(({ digest }, index) => digest !== undefined && !targets[index]);
}
