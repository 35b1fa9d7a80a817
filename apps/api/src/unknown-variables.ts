/** A variable that is set but that Latchkey doesn't read. */
export interface UnknownVariable {
  readonly name: string;
  /** The variable that was probably meant; undefined for a name that only begins with `LATCHKEY_`. */
  readonly suggestion: string | undefined;
}

const prefix = "LATCHKEY_";

/** Variables that Kubernetes sets in every container of a namespace with a service called "latchkey", "latchkey-db" and so on. */
const serviceName = /^LATCHKEY_(\w+_)?(SERVICE_HOST$|SERVICE_PORT(_|$)|PORT_\d)/;
const serviceAddress = /^(tcp|udp):\/\//;

/**
 * Shorter names, such as `HOST`, resemble too many others to match with two wrong letters or with letters at the
 * end.
 */
const longName = 7;

/**
 * Finds variables that are set and resemble those that Latchkey reads: misspelled, in another case, with a suffix, or
 * with the prefix `LATCHKEY_`.
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
    const suggestion = findSimilar(isPrefixed ? upper.slice(prefix.length) : upper, known);
    return suggestion || isPrefixed ? [{ name, suggestion }] : [];
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

/** The number of letters to insert, remove or replace to turn one text into the other (Levenshtein distance). */
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
