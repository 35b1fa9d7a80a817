import { Fragment, type ReactElement } from "react";

/** A piece of a sentence: text of the app, or a name that a user chose. */
export type Piece = string | { readonly name: string };

/**
 * A sentence about an event. Names are isolated, because they can be written from right to left.
 */
export function EventSentence({ pieces }: { readonly pieces: readonly Piece[] }): ReactElement {
  return (
    <>
      {pieces.map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the pieces never changes
        <Fragment key={index}>{typeof piece === "string" ? piece : <bdi>{piece.name}</bdi>}</Fragment>
      ))}
    </>
  );
}
