import { issuedPermissionPattern, maxLength } from "@latchkey/limits";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compilePermissions,
  maxQueryTerms,
  type PermissionQuery,
  parsePermissionQuery,
  satisfies,
} from "./permission-query.ts";

/** Parses a query that must be valid. */
function parse(text: string): PermissionQuery {
  const query = parsePermissionQuery(text);
  if (query.kind === "error") throw new Error(`${query.position}: ${query.message}`);
  return query;
}

const permission = (name: string): PermissionQuery => ({ kind: "permission", name });

describe("parsing", () => {
  test("AND takes precedence over OR", () => {
    const operands = [permission("a"), { kind: "and", operands: [permission("b"), permission("c")] }];
    expect(parse("a OR b AND c")).toEqual({ kind: "or", operands });
  });

  test("parentheses group", () => {
    const operands = [{ kind: "or", operands: [permission("a"), permission("b")] }, permission("c")];
    expect(parse("(a OR b)AND\n( c )")).toEqual({ kind: "and", operands });
  });

  test("parentheses around one permission change nothing", () => {
    expect(parse(`${"(".repeat(2_000)}a${")".repeat(2_000)}`)).toEqual(permission("a"));
  });

  test.each([
    ["", 1, "Expected a permission."],
    ["   ", 4, "Expected a permission."],
    ["a AND", 6, "Expected a permission."],
    ["OR a", 1, "Expected a permission."],
    ["a b", 3, "Expected AND, OR or a closing parenthesis."],
    ["a and b", 3, "Expected AND, OR or a closing parenthesis."],
    ["(a OR b", 1, "This parenthesis is never closed."],
    ["a)", 2, "This parenthesis was never opened."],
    ["()", 2, "Expected a permission."],
    ["a OR AND", 6, "Expected a permission."],
    ["a OR (b AND documents/read)", 13, expect.stringContaining("letters, digits")],
    ["documents.*", 1, expect.stringContaining("letters, digits")],
    ["documents:*", 1, expect.stringContaining("letters, digits")],
    ["documents..read", 1, expect.stringContaining("letters, digits")],
    ["documents.:read", 1, expect.stringContaining("letters, digits")],
    ["a AND “b”", 7, expect.stringContaining("letters, digits")],
  ])("reports the first error of %j", (text, position, message) => {
    expect(parsePermissionQuery(text)).toEqual({ kind: "error", position, message });
  });

  test("allows 50 permissions and no more", () => {
    const terms = Array.from({ length: maxQueryTerms }, (_, index) => `p${index}`).join(" OR ");
    expect(parse(terms).kind).toBe("or");
    expect(parsePermissionQuery(`${terms} AND more`)).toEqual({
      kind: "error",
      position: terms.length + 6,
      message: "A query can have at most 50 permissions.",
    });
  });
});

test("allows permissions of 128 characters and no longer ones", () => {
  const longest = `${"a.".repeat(63)}bc`;
  expect(longest).toHaveLength(maxLength.issuedPermission);
  expect(parse(longest)).toEqual(permission(longest));
  expect(parsePermissionQuery(`x OR (${longest}d)`)).toEqual({
    kind: "error",
    position: 7,
    message: "A permission can have at most 128 characters.",
  });
});

test("a query can name every permission that a key can have, except wildcards, and no other", () => {
  const text = fc.oneof(
    fc.stringMatching(/^[A-Za-z0-9_.:*-]{1,6}$/),
    fc
      .array(fc.constantFrom("a", "B", "AND", "OR", "and", ".", ":", "*"), { maxLength: 5 })
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (name) => {
      const query = parsePermissionQuery(name);
      const isNamed = query.kind === "permission" && query.name === name;
      expect(isNamed).toBe(issuedPermissionPattern.test(name) && !name.includes("*"));
      if (isNamed) expect(satisfies(compilePermissions([name]), query)).toBe(true);
    }),
  );
});

describe("evaluation", () => {
  test.each([
    [["documents.read"], "documents.read", true],
    [["documents.read"], "documents.write", false],
    [["documents.read"], "documents.read.all", false],
    [["documents.*"], "documents.read", true],
    [["documents.*"], "documents.read.all", true],
    [["documents.*"], "documents", false],
    [["documents.*"], "documentsearch", false],
    [["documents.*"], "documents:read", false],
    [["doc*"], "documents.read", false],
    [["documents:*"], "documents:read", true],
    [["documents:*"], "documents:read.all", true],
    [["documents:*"], "documents.read", false],
    [["org:documents.*"], "org:documents.read", true],
    [["Documents.Read"], "Documents.Read", true],
    [["Documents.Read"], "documents.read", false],
    [["*"], "documents.read", true],
    [["*", "a.*"], "documents.read", true],
    [["a.*", "a.b.*", "b.*"], "a.c", true],
    [["a.*", "c.*"], "b.a", false],
    [[], "documents.read", false],
    [["a", "c"], "a AND (b OR c)", true],
    [["a"], "a AND (b OR c)", false],
    [["b"], "a OR b AND c", false],
    [["a"], "a OR b AND c", true],
  ])("%j satisfies %j: %j", (held, text, expected) => {
    expect(satisfies(compilePermissions(held), parse(text))).toBe(expected);
  });

  test("a wildcard grants the names that start with the text before its asterisk, whatever else the key has", () => {
    const name = fc
      .array(fc.constantFrom("a", "b", "ab", "A-", "_"), { minLength: 1, maxLength: 3 })
      .chain((parts) =>
        fc
          .array(fc.constantFrom(".", ":"), { minLength: parts.length, maxLength: parts.length })
          .map((separators) =>
            parts.map((part, index) => (index > 0 ? separators[index] : "") + part).join(""),
          ),
      );
    const wildcard = fc.tuple(name, fc.constantFrom(".*", ":*")).map(([start, end]) => start + end);
    fc.assert(
      fc.property(fc.array(fc.oneof(name, wildcard), { maxLength: 10 }), name, (held, wanted) => {
        const isGranted = held.some((one) =>
          one.endsWith("*") ? wanted.startsWith(one.slice(0, -1)) : wanted === one,
        );
        expect(satisfies(compilePermissions(held), permission(wanted))).toBe(isGranted);
      }),
    );
  });

  test("any query has the result of the boolean expression that it spells", () => {
    const name = fc.constantFrom("a", "b.c", "d-e", "f_1");
    const { query } = fc.letrec<{ readonly query: PermissionQuery }>((tie) => ({
      query: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        name.map(permission),
        fc.record({
          kind: fc.constantFrom("and" as const, "or" as const),
          operands: fc.array(tie("query"), { minLength: 2, maxLength: 3 }),
        }),
      ),
    }));
    const spell = (node: PermissionQuery): string =>
      node.kind === "permission"
        ? node.name
        : `(${node.operands.map(spell).join(node.kind === "and" ? " AND " : " OR ")})`;
    const evaluate = (node: PermissionQuery, held: readonly string[]): boolean => {
      if (node.kind === "permission") return held.includes(node.name);
      const results = node.operands.map((operand) => evaluate(operand, held));
      return node.kind === "and" ? !results.includes(false) : results.includes(true);
    };
    fc.assert(
      fc.property(query, fc.subarray(["a", "b.c", "d-e", "f_1"]), (node, held) => {
        const text = spell(node);
        fc.pre(text.split(/ AND | OR /).length <= maxQueryTerms);
        expect(satisfies(compilePermissions(held), parse(text))).toBe(evaluate(node, held));
      }),
    );
  });
});
