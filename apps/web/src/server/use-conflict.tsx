import { type ReactElement, useEffect, useState } from "react";
import { changedFields } from "../ui/changed-fields.ts";
import { ConflictNotice } from "../ui/conflict-notice.tsx";
import { describeFailure } from "./failure.ts";

interface ConflictOptions<Item> {
  /** Such as "keyspace". */
  readonly noun: string;
  /** What the user edits. The page can load a newer version at any time. */
  readonly item: Item;
  /** Loads the current version. */
  readonly load: () => Promise<Item>;
  /** Whether the user has entered something. Until then, `base` follows `item`; by default, it doesn't follow. */
  readonly hasInput?: () => boolean;
  /**
   * Whether the form would show the same values for both versions. Then `base` also follows `item` after input, because there
   * is no conflict; by default, it doesn't.
   */
  readonly isSame?: (before: Item, after: Item) => boolean;
  /** The fields by label, of which the notice shows those that someone else changed; none by default. */
  readonly describe?: (item: Item) => Readonly<Record<string, string>>;
}

interface Conflict<Item> {
  /** The version that the edit is based on. */
  readonly base: Item;
  /** Shown above the fields after a conflict. */
  readonly notice: ReactElement | false;
  /** Called before a form is saved, and with the new version after it was saved. */
  readonly clear: (saved?: Item) => void;
  /** Called if the form could not be saved. Resolves to whether the notice reports it. */
  readonly onError: (error: unknown) => Promise<boolean>;
  /** The error, unless the notice reports or reported it. */
  readonly omitReported: (error: unknown) => unknown;
}

/**
 * Detects that what a form edits was changed elsewhere, and then offers the current version as `base`. The form keeps what
 * the user entered, with `useLatestValues`, and must send only the fields that differ from `base`.
 */
export function useConflict<Item extends { readonly version: number }>(
  options: ConflictOptions<Item>,
): Conflict<Item> {
  const { noun, item, load, hasInput = () => true, isSame = () => false, describe = () => ({}) } = options;
  const [base, setBase] = useState(item);
  /** What the user edited when someone else changed it. */
  const [outdated, setOutdated] = useState<Item>();
  const [reported, setReported] = useState<unknown>();
  useEffect(() => {
    if (item.version <= base.version) return;
    if (isSame(base, item) || (!outdated && !hasInput())) setBase(item);
  });
  return {
    base,
    notice: outdated !== undefined && (
      <ConflictNotice
        noun={noun}
        changes={changedFields(describe(outdated), describe(base))}
        onDiscard={() => setOutdated(undefined)}
      />
    ),
    clear(saved = base) {
      setBase(saved);
      setOutdated(undefined);
    },
    async onError(error) {
      if (describeFailure(error).code !== "PRECONDITION_FAILED") return false;
      // Without the current version, the form shows the error.
      const latest = await load().catch(() => undefined);
      if (latest === undefined) return false;
      setBase(latest);
      setOutdated(base);
      setReported(error);
      return true;
    },
    omitReported: (error) => (error === reported ? undefined : error),
  };
}
