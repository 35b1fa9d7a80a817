/** A difference between the database and what the migrations set up. */
export interface IsolationGap {
  /** A description, as part of a sentence. */
  readonly description: string;
  /** What goes wrong, as the rest of the sentence after ", so"; absent if tenants may no longer be isolated. */
  readonly consequence?: string;
  /** The statement that fixes it, if there is one. */
  readonly remedy?: string;
  /** Who may run the remedy, if the owner of the database may not. */
  readonly repairer?: "superuser";
}

/** The grants, policies, functions or row-level security of the database differ from what its migrations set up. */
export class TenantIsolationError extends Error {
  override readonly name = "TenantIsolationError";

  constructor(gaps: readonly IsolationGap[]) {
    super(`${describeGaps(gaps)} ${adviseOn(gaps)}`);
  }
}

function describeGaps(gaps: readonly IsolationGap[]): string {
  const isolating = gaps.filter(({ consequence }) => consequence === undefined);
  const others = gaps.filter(({ consequence }) => consequence !== undefined);
  return [
    ...(isolating.length > 0
      ? [
          `The database no longer isolates tenants: ${isolating.map(({ description }) => description).join("; ")}.`,
        ]
      : []),
    ...(others.length > 0
      ? [
          `The database is ${isolating.length > 0 ? "also " : ""}incomplete: ` +
            `${others.map(({ description, consequence }) => `${description}, so ${consequence}`).join("; ")}.`,
        ]
      : []),
  ].join(" ");
}

function adviseOn(gaps: readonly IsolationGap[]): string {
  if (gaps.some(({ remedy }) => remedy === undefined))
    return (
      "Make a backup with `latchkey backup`, and restore it with `latchkey restore` into an empty database, " +
      "which gets everything that the migrations set up."
    );
  const statements = (repairer: IsolationGap["repairer"]): string =>
    gaps.flatMap((gap) => (gap.repairer === repairer ? [gap.remedy] : [])).join(" ");
  const [owners, superusers] = [statements(undefined), statements("superuser")];
  return [
    ...(superusers ? [`To repair the roles, have a superuser run: ${superusers}`] : []),
    ...(owners
      ? [`To repair it, run \`latchkey migrate --repair\`, or have the owner of the database run: ${owners}`]
      : []),
  ].join(" ");
}
