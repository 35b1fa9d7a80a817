import type { ReactElement } from "react";

/** A name that somebody gave, in quotation marks; one that changes the direction of writing moves no neighbour. */
export function Quoted({ children }: { readonly children: string }): ReactElement {
  return (
    <>
      “<bdi>{children}</bdi>”
    </>
  );
}
