import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { FormFailure } from "../../ui/form-failure.tsx";

interface ConflictOptions<Item> {
  /** Such as "keyspace". */
  readonly noun: string;
  /** The item that the user edits, as it was when the dialog opened. */
  readonly item: Item;
  /** Loads the current version of the item. */
  readonly load: () => Promise<Item>;
}

interface Conflict<Item> {
  /** The version that the form edits. The page can load a newer one while the dialog is open. */
  readonly base: Item;
  /** Shown above the fields after a conflict. */
  readonly notice: ReactElement | false;
  /** Called before a form is saved. */
  readonly clear: () => void;
  /** Called if the form could not be saved. */
  readonly onError: (error: unknown) => Promise<void>;
}

/**
 * Detects that someone else changed what a form edits, and then offers the current version as `base`. Key the form by its
 * version, so that it restarts.
 */
export function useConflict<Item>({ noun, item, load }: ConflictOptions<Item>): Conflict<Item> {
  const [base, setBase] = useState(item);
  const [hasConflict, setHasConflict] = useState(false);
  return {
    base,
    notice: hasConflict && (
      <FormFailure
        message={`The ${noun} was changed in another window or by someone else, so your changes weren’t saved. The current settings are shown below.`}
      />
    ),
    clear: () => setHasConflict(false),
    async onError(error) {
      if (describeFailure(error).code !== "PRECONDITION_FAILED") return;
      setBase(await load());
      setHasConflict(true);
    },
  };
}
