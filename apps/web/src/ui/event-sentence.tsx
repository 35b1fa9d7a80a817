import { createElement, Fragment, type ReactElement } from "react";

/** A piece of a sentence: text of the app, or a name that a user chose. */
export type Piece = string | { readonly name: string };

/**
 * A sentence about an event. Names are isolated, because they can be written from right to left.
 */
export function EventSentence({ pieces }: { readonly pieces: readonly Piece[] }): ReactElement {
  // As separate children, pieces need no keys: their order never changes.
  return createElement(
    Fragment,
    null,
    ...pieces.map((piece) => (typeof piece === "string" ? piece : <bdi>{piece.name}</bdi>)),
  );
}
