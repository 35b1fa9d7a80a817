import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { Tag } from "../../ui/tag.tsx";
import { useNow } from "../../ui/use-now.ts";

/** What is unlike a key that is free and in force, in one or two words each. */
export function KeyTags({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  return (
    <>
      {listTags(apiKey, useNow()).map((tag) => (
        <Tag key={tag}>{tag}</Tag>
      ))}
    </>
  );
}

export function listTags(apiKey: ApiKey, now: Date): readonly string[] {
  const { isDisabled, expiresAt, limit, isReadOnly, workspaceIds, permissions, ipRanges } = apiKey;
  const isNarrowed = workspaceIds !== null || permissions !== null || ipRanges !== null;
  return [
    ...(isDisabled ? ["Disabled"] : []),
    ...(expiresAt !== null && new Date(expiresAt) <= now ? ["Expired"] : []),
    ...(limit ? ["Rate limited"] : []),
    ...(isReadOnly ? ["Read only"] : []),
    ...(isNarrowed ? ["Restricted"] : []),
  ];
}
