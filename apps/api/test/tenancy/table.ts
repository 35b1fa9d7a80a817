/** Who calls. Each but the first two is, or was, of the workspace that is called about. */
export const callers = ["nobody", "stranger", "removed", "viewer", "member", "admin", "owner"] as const;

export type Caller = (typeof callers)[number];

/** What one call is answered, for each of the callers. */
export interface Row {
  /** What is called: an `operationId`, or the path of a procedure. */
  readonly called: string;
  /** The same with what sets this call apart from others to it, after a comma. */
  readonly name: string;
  readonly answers: Readonly<Record<Caller, string>>;
}

/** Reads a table: the callers in the first line, then a call in each, with at least two spaces between columns. */
export function readTable(text: string): readonly Row[] {
  const [head = [], ...rows] = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/ {2,}/));
  if (head.join() !== callers.join()) throw new Error(`The callers of a table are ${callers.join(", ")}.`);
  return rows.map(([name = "", ...cells]) => {
    if (cells.length !== callers.length) throw new Error(`${name} has ${cells.length} answers.`);
    const answers = Object.fromEntries(callers.map((caller, index) => [caller, cells[index]]));
    const [called = ""] = name.split(", ");
    return { called, name, answers: answers as Row["answers"] }; // One of each caller.
  });
}
