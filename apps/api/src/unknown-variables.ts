/** A variable that is set and that Latchkey does not read. */
export interface UnknownVariable {
  readonly name: string;
  /** The variable that was probably meant; undefined for a name that only begins with `LATCHKEY_`. */
  readonly meant: string | undefined;
}

const prefix = "LATCHKEY_";

/** What Kubernetes sets in every container beside a service called "latchkey". */
const serviceName = /^LATCHKEY_(SERVICE_(HOST|PORT)|PORT_\d)/;
const serviceAddress = /^(tcp|udp):\/\//;

/** Shorter names, such as `HOST`, have too many neighbors to guess from two wrong letters or more letters at the end. */
const longName = 7;

/**
 * Finds set variables that resemble those that Latchkey reads: misspelled, in another case, with more at the end, or with
 * the prefix `LATCHKEY_`.
 * @param known the names of the variables that Latchkey reads.
 */
export function findUnknownVariables(
  variables: NodeJS.ProcessEnv,
  known: readonly string[],
): UnknownVariable[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    const upper = name.toUpperCase();
    const isServiceLink = serviceName.test(upper) || serviceAddress.test(value ?? "");
    if (!value || known.includes(name) || isServiceLink) return [];
    const isPrefixed = upper.startsWith(prefix);
    const meant = findSimilar(isPrefixed ? upper.slice(prefix.length) : upper, known);
    return meant || isPrefixed ? [{ name, meant }] : [];
  });
}

function findSimilar(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .filter(({ candidate, distance }) => {
      const isLong = candidate.length >= longName;
      return (
        distance <= (isLong ? 2 : 1) ||
        (isLong && (name.startsWith(candidate) || singularOf(name) === singularOf(candidate)))
      );
    })
    .sort((one, other) => one.distance - other.distance);
  return nearest?.candidate;
}

function singularOf(name: string): string {
  return name.replace(/IES(?=_|$)/g, "Y").replace(/S(?=_|$)/g, "");
}

/** How many letters to insert, remove or replace to make one text of the other (Levenshtein). */
function editDistance(one: string, other: string): number {
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...one].entries()) {
    const current = [row + 1];
    for (const [column, match] of [...other].entries()) {
      const replaced = (previous[column] ?? 0) + (letter === match ? 0 : 1);
      current.push(Math.min((previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1, replaced));
    }
    previous = current;
  }
  return previous[other.length] ?? 0;
}
