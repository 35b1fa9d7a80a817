import type { ReactElement } from "react";
import { Quoted } from "./quoted.tsx";

interface NoMatchTitleProps {
  /** What the list holds, such as "key". */
  readonly noun: string;
  /** The text that was searched for; empty if only filters are set. */
  readonly search: string;
}

/** The title of the panel that replaces a list without matches. */
export function NoMatchTitle({ noun, search }: NoMatchTitleProps): ReactElement {
  if (search === "") return <>No {noun} matches the filters</>;
  return (
    <>
      No {noun} matches <Quoted>{search}</Quoted>
    </>
  );
}
