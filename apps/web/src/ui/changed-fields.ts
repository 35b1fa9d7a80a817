/** The fields whose values differ. */
export function changedFields<Fields extends object>(
  before: NoInfer<Fields>,
  after: Fields,
): Partial<Fields> {
  const names = Object.keys(after) as (keyof Fields)[]; // The object's keys.
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(changed.map((name) => [name, after[name]])) as Partial<Fields>; // Some of its fields.
}
