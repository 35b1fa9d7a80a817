import { changedFields } from "./changed-fields.ts";

interface Edit<Values> {
  /** What the user edited. */
  readonly base: Values;
  /** What the form contains. */
  readonly input: Values;
  readonly latest: Values;
  /** Fields that form one setting, such as the number and the window of a rate limit. */
  readonly groups: readonly (readonly (keyof Values)[])[];
}

/** Returns the latest values, with the input of the fields that the user edited, and of the groups that have such a field. */
export function keepInput<Values extends object>({ base, input, latest, groups }: Edit<Values>): Values {
  const edited = changedFields<Values>(base, input);
  const kept = groups.filter((group) => group.some((name) => name in edited)).flat();
  const together = Object.fromEntries(kept.map((name) => [name, input[name]])) as Partial<Values>; // Some of its fields.
  return { ...latest, ...edited, ...together };
}
