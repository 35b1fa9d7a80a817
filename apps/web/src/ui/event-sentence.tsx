import { Children, type ReactElement, type ReactNode } from "react";

/** A piece of a sentence: text of the app, or a name that a user chose. */
export type Piece = string | { readonly name: string };

/**
 * A sentence about an event. Names are isolated, because they can be written from right to left.
 */
export function EventSentence({ pieces }: { readonly pieces: readonly Piece[] }): ReactElement {
  // `Children.toArray` gives each piece a key for its position, which never changes.
  return <>{Children.toArray(pieces.map(renderPiece))}</>;
}

function renderPiece(piece: Piece): ReactNode {
  return typeof piece === "string" ? piece : <bdi>{piece.name}</bdi>;
}
