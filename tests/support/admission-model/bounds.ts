import type { Changing } from "./changing.ts";

// What a key is held to in a story, by a clock that is set forward and back. Times are in minutes.

/** What a use asks for beside a good key: to see the workspace, or its audit log. */
export type RequirementModel = "see" | "audit";

/** All that a key is held to: nothing, not being used, another place, seeing alone, a limit, a time. */
export type SettingsModel =
  | { readonly kind: "free" | "disabled" | "elsewhere" | "seeing" | "limited" }
  | { readonly kind: "expiring"; readonly until: number };

/** A secret of a key. */
export interface SecretModel {
  /** Endless for the one that the key has now. */
  readonly goodUntil: Changing<number>;
}

/** How many uses a limited key has in a window, which lasts an hour. */
export const quota = 5;

/** How far the clock is set forward, past the end of every window, and how far back, which ends none. */
export const clockSteps = { forward: 120, back: -10 } as const;

/** Whether settings allow a use, at a time. */
function allows(settings: SettingsModel, clock: number, requirement: RequirementModel | undefined): boolean {
  switch (settings.kind) {
    case "disabled":
    case "elsewhere":
      return false;
    case "seeing":
      return requirement !== "audit";
    case "expiring":
      return clock < settings.until;
    default:
      return true;
  }
}

/** Whether a key, as far as itself goes, may allow a use by one of its secrets; both where nobody can know. */
export function possibleByKey(
  facts: {
    readonly settings: Changing<SettingsModel>;
    readonly secret: SecretModel;
    readonly clock: Changing<number>;
  },
  requirement: RequirementModel | undefined,
): ReadonlySet<boolean> {
  const { settings, secret, clock } = facts;
  return new Set(
    [...clock.possible].flatMap((time) =>
      [...settings.possible].flatMap((held) =>
        [...secret.goodUntil.possible].map((until) => time < until && allows(held, time, requirement)),
      ),
    ),
  );
}

/** A use, for its key's limit. */
interface Entry {
  /** In which windows it may have been, by how often the clock was set forward before. */
  readonly windows: ReadonlySet<number>;
  /** Whether the key may have been limited, and not. */
  readonly isLimited: ReadonlySet<boolean>;
  /** Undefined while it is out; unknown is as good as admitted. */
  isSpent: boolean | undefined;
}

/** Holds the uses of a key against its limit: no more in a window than the quota, and no fewer before one is turned away. */
export class LimitBook {
  readonly #entries: Entry[] = [];

  enter(seen: Pick<Entry, "windows" | "isLimited">): Entry {
    const entry: Entry = { ...seen, isSpent: undefined };
    this.#entries.push(entry);
    return entry;
  }

  /** @throws an Error where more were admitted in one window than the quota. */
  admit(entry: Entry): void {
    entry.isSpent = true;
    const [window, ...more] = entry.windows;
    if (more.length > 0 || entry.isLimited.has(false)) return;
    const certain = this.#entries.filter(
      ({ windows, isLimited, isSpent }) =>
        isSpent && windows.size === 1 && windows.has(window ?? -1) && !isLimited.has(false),
    );
    if (certain.length > quota)
      throw new Error(`By the model it cannot be that ${certain.length} uses were in one window.`);
  }

  /** @throws an Error where the key was not limited, or its window had room. */
  turnAway(entry: Entry): void {
    entry.isSpent = false;
    if (!entry.isLimited.has(true)) throw new Error("By the model it cannot be that a use was past a limit.");
    const possible = this.#entries.filter(
      ({ windows, isLimited, isSpent }) =>
        isSpent !== false && isLimited.has(true) && !windows.isDisjointFrom(entry.windows),
    );
    if (possible.length < quota)
      throw new Error(`By the model it cannot be that a use was past a limit after ${possible.length}.`);
  }
}
