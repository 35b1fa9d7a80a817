import type { ReactElement } from "react";

/** A user, such as the owner of an API key or the actor of a change. */
export interface NamedUser {
  readonly name: string;
  /** Null if it is unknown, such as for the latchkey command. */
  readonly kind: "person" | "service_account" | null;
}

/** The name of a user, which says if the user is a service account. */
export function OwnerName({ name, kind }: NamedUser): ReactElement {
  return (
    <>
      <bdi>{name}</bdi>
      {kind === "service_account" && " (service account)"}
    </>
  );
}

/** The same as `OwnerName`, where only text is allowed. */
export function nameOwner({ name, kind }: NamedUser): string {
  return kind === "service_account" ? `${name} (service account)` : name;
}
