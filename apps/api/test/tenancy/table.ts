/** The callers. All except the first two are, or were, members of the workspace `tenant`. */
export const callers = ["nobody", "stranger", "removed", "viewer", "member", "admin", "owner"] as const;

export type Caller = (typeof callers)[number];

/** The expected result of one call, per caller. */
export interface Row {
  /** The called `operationId`, or the path of the called procedure. */
  readonly target: string;
  /** The target. If the target has several rows, a comma and a qualifier follow. */
  readonly name: string;
  readonly results: Readonly<Record<Caller, string>>;
}

/** Parses a table: callers in the first line, then one call per line. Two or more spaces separate columns. */
export function readTable(text: string): readonly Row[] {
  const [head = [], ...rows] = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/ {2,}/));
  if (head.join() !== callers.join()) throw new Error(`The callers of a table are ${callers.join(", ")}.`);
  return rows.map(([name = "", ...cells]) => {
    if (cells.length !== callers.length) throw new Error(`${name} has ${cells.length} answers.`);
    const results = Object.fromEntries(callers.map((caller, index) => [caller, cells[index]]));
    const [target = ""] = name.split(", ");
    return { target, name, results: results as Row["results"] }; // One per caller.
  });
}
