import { Children, type ReactElement } from "react";

const possibleBreak = <wbr />;

/** An email address that breaks after its punctuation if it doesn't fit in a line. */
export function EmailAddress({ address }: { readonly address: string }): ReactElement {
  // `Children.toArray` gives each part a key for its position.
  return <>{Children.toArray(address.split(/(?<=[.@])/).flatMap((part) => [part, possibleBreak]))}</>;
}
