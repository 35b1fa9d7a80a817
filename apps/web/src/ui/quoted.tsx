import type { ReactElement } from "react";

/**
 * A user-defined name in quotation marks. `bdi` isolates right-to-left names from the surrounding
 * text.
 */
export function Quoted({ children }: { readonly children: string }): ReactElement {
  return (
    <>
      “<bdi>{children}</bdi>”
    </>
  );
}
