import type { NamedUser } from "./owner-name.tsx";

/** Whether the reader can open the page of a key: it is theirs, or a service account's. */
export function hasKeyPage(
  { owner }: { readonly owner: NamedUser & { readonly id: string } },
  ownId: string,
): boolean {
  return owner.id === ownId || owner.kind === "service_account";
}
