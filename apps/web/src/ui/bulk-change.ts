import type { ReactElement } from "react";
import { countOf } from "./count.ts";
import type { FormFailureProps } from "./form-failure.tsx";

/** How a change describes the secrets that it creates, such as links, which are shown only once. */
export interface IssuedTexts {
  /** For example "link" and "links". */
  readonly nouns: readonly [string, string];
  /** What to do with them. */
  readonly explanation: string;
}

/** How items are changed. */
type Run<Item> =
  /** Changes one item. */
  | { readonly run: (item: Item) => Promise<unknown> }
  /** Changes all items in one call, which fails as a whole. Returns those that it changed. */
  | { readonly runAll: (items: readonly Item[]) => Promise<readonly Item[]> }
  /** Returns the secret that the change created, if it is to be shown. */
  | { readonly issue: (item: Item) => Promise<string | undefined>; readonly issued: IssuedTexts };

/** A change of all selected items of a list. */
export type BulkAction<Item> = BulkActionTexts<Item> & Run<Item>;

interface BulkActionTexts<Item> {
  /** In the imperative, such as "Disable". */
  readonly verb: string;
  /** What comes before the number of items in a title, such as "End all sessions of"; the verb by default. */
  readonly titleVerb?: string;
  /** The participle, such as "disabled". */
  readonly done: string;
  /** What the change does. */
  readonly consequence: string;
  /** False for a change that removes nothing. */
  readonly isDangerous: boolean;
  /** Whether the change makes sense for an item; for all items by default. */
  readonly appliesTo?: (item: Item) => boolean;
  /** Why the change doesn't apply to other items, such as "already disabled". */
  readonly skipped?: string;
  /** Renders what depends on the items, which the user sees before the change. */
  readonly preview?: (items: readonly Item[]) => ReactElement;
}

/** Why an item wasn't changed. */
export interface BulkFailure extends FormFailureProps {
  /** An error code of the API, or `NO_ANSWER` if the API did not respond. */
  readonly code: string;
}

/** The selected items of a list. */
export interface BulkItems<Item> {
  readonly items: readonly Item[];
  readonly nameOf: (item: Item) => string;
  /** For example "key" and "keys". */
  readonly nouns: readonly [string, string];
  /** A sentence about items, such as whether they have been used. */
  readonly describe?: (items: readonly Item[]) => string;
  /** Returns the failure to show for an error; undefined if the item no longer exists, so that nothing is left to do. */
  readonly describeError: (error: unknown) => BulkFailure | undefined;
  /** Loads the list again. */
  readonly refresh: () => Promise<unknown>;
}

interface RunResult {
  /** False if there was nothing to change, for example because the item was deleted concurrently. */
  readonly isChanged: boolean;
  /** The secret to show, if the change created one. */
  readonly secret?: string | undefined;
}

/** One change of several items, independent of their type. */
export interface BulkChange
  extends Pick<BulkActionTexts<never>, "done" | "consequence" | "isDangerous">,
    Pick<BulkItems<never>, "nouns" | "describeError" | "refresh"> {
  /** What happens to how many items, such as "Disable 3 keys". */
  readonly title: string;
  readonly names: readonly string[];
  /** Empty if there is nothing to say. */
  readonly description: string;
  readonly preview: ReactElement | undefined;
  /** Each changes one item. */
  readonly runs: readonly (() => Promise<RunResult>)[];
  readonly issued: IssuedTexts | undefined;
}

/** @param skippedCount the number of selected items that the action doesn't apply to. */
export function toChange<Item>(
  action: BulkAction<Item>,
  bulk: BulkItems<Item>,
  skippedCount = 0,
): BulkChange {
  const { verb, titleVerb = verb, done, consequence, isDangerous, skipped, preview } = action;
  const { items, nameOf, nouns, describe, describeError, refresh } = bulk;
  return {
    ...{ done, consequence, isDangerous, nouns, describeError, refresh },
    title: `${titleVerb} ${countOf(items.length, ...nouns)}`,
    names: items.map(nameOf),
    // The description of the items is first, because “them” refers to their names.
    description: [
      ...(describe ? [describe(items)] : []),
      ...(skipped && skippedCount > 0
        ? [
            `${countOf(skippedCount, `other selected ${nouns[0]} is`, `other selected ${nouns[1]} are`)} ${skipped}.`,
          ]
        : []),
    ].join(" "),
    preview: preview?.(items),
    runs:
      "runAll" in action
        ? shareCall(items, action.runAll)
        : items.map((item) => async () => {
            if ("issue" in action) return { isChanged: true, secret: await action.issue(item) };
            await action.run(item);
            return { isChanged: true };
          }),
    issued: "issue" in action ? action.issued : undefined,
  };
}

/** One run per item, which all wait for the same call. */
function shareCall<Item>(
  items: readonly Item[],
  runAll: (items: readonly Item[]) => Promise<readonly Item[]>,
): readonly (() => Promise<RunResult>)[] {
  let call: Promise<readonly Item[]> | undefined;
  return items.map((item) => async () => {
    call ??= runAll(items);
    return { isChanged: (await call).includes(item) };
  });
}
