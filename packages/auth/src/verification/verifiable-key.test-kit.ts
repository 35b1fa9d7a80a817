import type { IssuedKeyId, KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import type { KeyFacts } from "../admission/decision.ts";
import { membershipAs, validFacts } from "../admission/facts.test-kit.ts";
import { compilePermissions } from "./permission-query.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

export const workspaceId = "workspace" as WorkspaceId;
export const keyspaceId = "keyspace" as KeyspaceId;

/** The facts of an API key that may verify keys of the workspace. */
export const caller: KeyFacts = {
  ...validFacts,
  memberships: new Map([[workspaceId, membershipAs("member")]]),
};

/** The facts of an issued key without permissions, restrictions, meters and a consumer. */
export const plainKey: VerifiableKey = {
  keyId: "issued" as IssuedKeyId,
  workspaceId,
  keyspaceId,
  version: 1,
  owner: { id: keyspaceId, version: 0 },
  workspaceVersion: 0,
  isDisabled: false,
  isUnusedSecret: false,
  isInUse: true,
  expiresAt: null,
  overlapEndsAt: null,
  name: "Acme",
  meta: {},
  permissions: [],
  grantedPermissions: compilePermissions([]),
  limits: [],
  refill: null,
  hasCredits: false,
  idleAt: null,
  allowsAddress: undefined,
  ipRangeCount: 0,
  consumer: null,
};
