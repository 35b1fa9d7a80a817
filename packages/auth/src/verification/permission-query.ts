import { maxLength } from "@latchkey/limits";

/** The most permissions in a query. */
export const maxQueryTerms = 50;

/** A parsed permission query, such as `documents.read AND (documents.write OR admin)`. */
export type PermissionQuery =
  | { readonly kind: "permission"; readonly name: string }
  | { readonly kind: "and" | "or"; readonly operands: readonly PermissionQuery[] };

/** Why a query is invalid. */
export interface QueryError {
  readonly kind: "error";
  /** The position of the first character that can't be parsed, from 1. */
  readonly position: number;
  readonly message: string;
}

/** Names separated by periods or colons, without a wildcard. */
const permissionForm = /^[A-Za-z0-9_-]+(?:[.:][A-Za-z0-9_-]+)*$/;
/** Parentheses, words, and characters that are part of neither. */
const tokenForm = /[()]|[^\s()]+/g;

interface Token {
  readonly text: string;
  /** From 1. */
  readonly position: number;
}

/**
 * Parses a permission query. `AND` takes precedence over `OR`, parentheses group, and keywords are upper case. Permissions are
 * exact: a key's permission can be a wildcard, but a query's can't.
 */
export function parsePermissionQuery(text: string): PermissionQuery | QueryError {
  const tokens = Array.from(text.matchAll(tokenForm), ({ 0: token, index }) => ({
    text: token,
    position: index + 1,
  }));
  return new QueryParser(tokens, text.length + 1).parse();
}

/** An operand list that is being parsed: one level of parentheses. */
interface Level {
  /** Undefined for the outermost level. */
  readonly openedAt: Token | undefined;
  /** Alternatives, each a list of permissions or groups that are all required. The last one is being parsed. */
  readonly alternatives: PermissionQuery[][];
}

/** Parses without recursion, so that nesting can't exhaust the stack. */
class QueryParser {
  readonly #tokens: readonly Token[];
  readonly #end: number;
  readonly #levels: Level[] = [{ openedAt: undefined, alternatives: [[]] }];
  #termCount = 0;
  /** Whether the next token must start an operand, or else be an operator or a closing parenthesis. */
  #needsOperand = true;

  constructor(tokens: readonly Token[], end: number) {
    this.#tokens = tokens;
    this.#end = end;
  }

  parse(): PermissionQuery | QueryError {
    for (const token of this.#tokens) {
      const failure = this.#needsOperand ? this.#takeOperand(token) : this.#takeOperator(token);
      if (failure) return failure;
    }
    if (this.#needsOperand) return error(this.#end, "Expected a permission.");
    const { openedAt, alternatives } = this.#top();
    return openedAt ? error(openedAt.position, "This parenthesis is never closed.") : combine(alternatives);
  }

  #takeOperand({ text, position }: Token): QueryError | undefined {
    if (text === "(") {
      this.#levels.push({ openedAt: { text, position }, alternatives: [[]] });
      return undefined;
    }
    if (text === "AND" || text === "OR" || text === ")") return error(position, "Expected a permission.");
    if (!permissionForm.test(text)) {
      return error(
        position,
        "Expected a permission: letters, digits, hyphens and underscores, separated by periods or colons.",
      );
    }
    // A longer permission could be granted only by a wildcard, because no key can have it.
    if (text.length > maxLength.issuedPermission)
      return error(position, `A permission can have at most ${maxLength.issuedPermission} characters.`);
    this.#termCount += 1;
    if (this.#termCount > maxQueryTerms)
      return error(position, `A query can have at most ${maxQueryTerms} permissions.`);
    this.#addOperand({ kind: "permission", name: text });
    return undefined;
  }

  #takeOperator({ text, position }: Token): QueryError | undefined {
    if (text === "AND" || text === "OR") {
      if (text === "OR") this.#top().alternatives.push([]);
      this.#needsOperand = true;
      return undefined;
    }
    if (text !== ")") return error(position, "Expected AND, OR or a closing parenthesis.");
    const { openedAt, alternatives } = this.#top();
    if (!openedAt) return error(position, "This parenthesis was never opened.");
    this.#levels.pop();
    this.#addOperand(combine(alternatives));
    return undefined;
  }

  #addOperand(operand: PermissionQuery): void {
    const operands = this.#top().alternatives.at(-1) as PermissionQuery[]; // Each level has an alternative.
    operands.push(operand);
    this.#needsOperand = false;
  }

  #top(): Level {
    return this.#levels.at(-1) as Level; // The outermost level is never removed.
  }
}

function error(position: number, message: string): QueryError {
  return { kind: "error", position, message };
}

function combine(alternatives: readonly (readonly PermissionQuery[])[]): PermissionQuery {
  return group(
    "or",
    alternatives.map((operands) => group("and", operands)),
  );
}

/** A group of one operand is that operand, so that parentheses around a permission don't add depth. */
function group(kind: "and" | "or", operands: readonly PermissionQuery[]): PermissionQuery {
  const [only] = operands;
  return only && operands.length === 1 ? only : { kind, operands };
}

/** The permissions of a key, prepared for the evaluation of queries. */
export interface GrantedPermissions {
  readonly names: ReadonlySet<string>;
  /** The wildcards without their asterisks, such as `documents.`, sorted. None of them starts with another one. */
  readonly prefixes: readonly string[];
}

/** Prepares permissions, which can be wildcards such as `documents.*` and `*`, for the evaluation of queries. */
export function compilePermissions(permissions: readonly string[]): GrantedPermissions {
  const sorted = permissions
    .filter((name) => name === "*" || name.endsWith(".*") || name.endsWith(":*"))
    .map((name) => name.slice(0, -1))
    .sort();
  const prefixes: string[] = [];
  // What starts with a prefix follows it directly, so comparing each one with the last that was kept finds all of them.
  for (const prefix of sorted) {
    const last = prefixes.at(-1);
    if (last === undefined || !prefix.startsWith(last)) prefixes.push(prefix);
  }
  return { names: new Set(permissions), prefixes };
}

/**
 * Whether permissions satisfy a query. The time is linear in the length of the query, and grows with the logarithm of the number of
 * wildcards, because other tenants wait while a batch is decided.
 */
export function satisfies(permissions: GrantedPermissions, query: PermissionQuery): boolean {
  if (query.kind === "permission") return grants(permissions, query.name);
  const isSatisfied = (operand: PermissionQuery): boolean => satisfies(permissions, operand);
  return query.kind === "and" ? query.operands.every(isSatisfied) : query.operands.some(isSatisfied);
}

/**
 * Whether permissions include one of a query. `documents.*` includes `documents.read`, but neither `documents` nor
 * `documents:read`.
 *
 * If the name starts with a prefix, that is the last one that isn't after the name: any text between the two starts with the prefix,
 * and no other prefix does.
 */
function grants({ names, prefixes }: GrantedPermissions, name: string): boolean {
  if (names.has(name)) return true;
  let [low, high] = [0, prefixes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((prefixes[middle] as string) <= name)
      low = middle + 1; // `middle` is less than `high`.
    else high = middle;
  }
  const candidate = prefixes[low - 1];
  return candidate !== undefined && name.startsWith(candidate);
}
