import type { FoundKeys } from "./decide-request.ts";
import type { OwnerVersion } from "./verifiable-key.ts";

/** Lists the owners of the keys of a batch, with each version that the facts name once. */
export function listOwners(requests: readonly FoundKeys[]): OwnerVersion[] {
  const owners: OwnerVersion[] = [];
  const versions = new Map<string, Set<number>>();
  const add = ({ id, version }: OwnerVersion): void => {
    const known = versions.get(id);
    if (known?.has(version)) return;
    owners.push({ id, version });
    if (known) known.add(version);
    else versions.set(id, new Set([version]));
  };
  for (const { caller, targets } of requests) {
    if (caller) add({ id: caller.userId, version: caller.ownerVersion });
    for (const facts of targets) {
      if (!facts) continue;
      add(facts.owner);
      if (facts.workspaceVersion !== null) add({ id: facts.workspaceId, version: facts.workspaceVersion });
      if (facts.consumer) add(facts.consumer);
    }
  }
  return owners;
}
