import { expect, test } from "vitest";
import { KeyFileError } from "./key-file-error.ts";
import type { KeyFileRow } from "./key-file-row.ts";
import { formatOfKeyFile, type KeyFileFormat, readKeyFile } from "./read-key-file.ts";

/** Reads a text that arrives in pieces of this many bytes. */
async function read(text: string, format: KeyFileFormat, pieceLength?: number): Promise<KeyFileRow[]> {
  return await readBytes(new TextEncoder().encode(text), format, pieceLength);
}

async function readBytes(
  bytes: Uint8Array,
  format: KeyFileFormat,
  pieceLength = bytes.length,
): Promise<KeyFileRow[]> {
  async function* toChunks() {
    for (let at = 0; at < bytes.length; at += pieceLength) yield bytes.subarray(at, at + pieceLength);
  }
  return await Array.fromAsync(readKeyFile(toChunks(), format));
}

test("reads CSV with quoted cells, line breaks in cells, both kinds of line breaks and empty lines", async () => {
  const text = '\uFEFFhash,name\r\n\r\na,"x, ""y""\nz"\nb,\n\nc,last';
  const expected = [
    { line: 3, content: { hash: "a", name: 'x, "y"\nz' } },
    { line: 5, content: { hash: "b" } },
    { line: 7, content: { hash: "c", name: "last" } },
  ];
  expect(await read(text, "csv")).toEqual(expected);
});

test("reads characters of several bytes that arrive in pieces", async () => {
  const expected = [{ line: 2, content: { hash: "a", name: "Jörg 🔑" } }];
  expect(await read("\uFEFFhash,name\na,Jörg 🔑", "csv", 1)).toEqual(expected);
});

test.each([
  ["another encoding", Buffer.from("hash,externalId\na,Jörg\n", "latin1")],
  ["UTF-16", Buffer.from("\uFEFFhash,externalId\na,Joe\n", "utf16le")],
  ["an incomplete character", Buffer.from("hash,externalId\na,J\xf6", "latin1")],
])("rejects a file in %s, in which different external IDs could become the same", async (_, bytes) => {
  await expect(readBytes(bytes, "csv")).rejects.toThrow(
    new KeyFileError("The file isn’t UTF-8 text. Save it in UTF-8, and import it again."),
  );
});

test("reads lists, JSON and numbers of credits in CSV", async () => {
  const text =
    'hash,permissions,meta,credits,isDisabled\na,documents.read  admin,"{""plan"":1}",50,true\nb,,{,"{}",no';
  expect(await read(text, "csv")).toEqual([
    {
      line: 2,
      content: {
        hash: "a",
        permissions: ["documents.read", "admin"],
        meta: { plan: 1 },
        credits: { remaining: 50 },
        isDisabled: true,
      },
    },
    { line: 3, content: { hash: "b", meta: "{", credits: {}, isDisabled: "no" } },
  ]);
});

test("CSV can say that a key never expires and has no permissions, in spite of the keyspace's defaults", async () => {
  expect(
    await read("hash,expiresAt,permissions\na,never,[]\nb,2999-01-01T00:00:00Z,\nc,,never", "csv"),
  ).toEqual([
    { line: 2, content: { hash: "a", expiresAt: null, permissions: [] } },
    { line: 3, content: { hash: "b", expiresAt: "2999-01-01T00:00:00Z" } },
    { line: 4, content: { hash: "c", permissions: ["never"] } },
  ]);
});

test("reports a row with too few or too many cells, and reads the others", async () => {
  expect(await read("hash,name\na\nb,c,d\ne,f", "csv")).toEqual([
    { line: 2, content: { problem: "This row has 1 cells instead of 2." } },
    { line: 3, content: { problem: "This row has 3 cells instead of 2." } },
    { line: 4, content: { hash: "e", name: "f" } },
  ]);
});

test.each([
  ["name\na", "The first line must name the columns, and one must be hash."],
  [
    "hash,secret\na,b",
    'The column "secret" is unknown. Use hash, start, name, externalId, permissions, limits, credits, expiresAt, isDisabled, ipRanges, meta.',
  ],
  ["hash,name,name\na,b,c", 'The column "name" appears twice.'],
  ['hash,name\na,b\nc,"d"e\nf,g', "Line 3 isn’t valid CSV. Check its quotation marks."],
])("rejects the file %j", async (text, message) => {
  await expect(read(text, "csv")).rejects.toThrow(new KeyFileError(message));
});

test("reads NDJSON, and reports lines that aren't JSON objects", async () => {
  expect(await read('\uFEFF{"hash":"a"}\r\n\n{"hash":\n[1]\n{"hash":"b","name":"\\"\\n"}', "ndjson")).toEqual(
    [
      { line: 1, content: { hash: "a" } },
      { line: 3, content: { problem: "This line isn’t a JSON object." } },
      { line: 4, content: { problem: "This line isn’t a JSON object." } },
      { line: 5, content: { hash: "b", name: '"\n' } },
    ],
  );
});

test.each(["csv", "ndjson"] as const)("reads a long %s file in pieces as in one", async (format) => {
  const count = 20_000;
  const rows = Array.from({ length: count }, (_, index) =>
    format === "csv"
      ? `${index},"a ""quoted""\nname"\n`
      : `${JSON.stringify({ hash: String(index), name: '"' })}\n`,
  );
  const text = (format === "csv" ? "hash,name\n" : "") + rows.join("");
  const whole = await read(text, format);
  expect(whole).toHaveLength(count);
  expect(whole.at(-1)).toEqual({
    line: format === "csv" ? 2 * count : count,
    content: { hash: String(count - 1), name: format === "csv" ? 'a "quoted"\nname' : '"' },
  });
  expect(await read(text, format, 1_009)).toEqual(whole);
});

test.each(["csv", "ndjson"] as const)("reads a %s file of 3 MB that arrives in one piece", async (format) => {
  const name = "x".repeat(1_000);
  const rows = Array.from({ length: 3_000 }, (_, index) =>
    format === "csv" ? `${index},${name}\n` : `${JSON.stringify({ hash: String(index), name })}\n`,
  );
  const text = (format === "csv" ? "hash,name\n" : "") + rows.join("");
  const found = await read(text.slice(0, -1), format);
  expect(found.map(({ content }) => content)).toEqual(
    rows.map((_, index) => ({ hash: String(index), name })),
  );
});

// Quadratic time would exceed the timeout of a test many times over.
test("reads a cell with 500,000 line breaks in linear time", async () => {
  const breaks = "\n".repeat(500_000);
  expect(await read(`hash,name\na,"x${breaks}y"\nb,z\n`, "csv")).toEqual([
    { line: 2, content: { hash: "a", name: `x${breaks}y` } },
    { line: 500_003, content: { hash: "b", name: "z" } },
  ]);
});

test.each(["csv", "ndjson"] as const)(
  "reads a long %s row that arrives character by character in linear time",
  async (format) => {
    const name = "x".repeat(1_000_000);
    const text =
      format === "csv" ? `hash,name\na,"${name}\n"\nb,z\n` : `{"hash":"a","name":"${name}"}\n{"hash":"b"}\n`;
    const rows = await read(text, format, 1);
    expect(rows.map(({ content }) => ("hash" in content ? content.hash : content))).toEqual(["a", "b"]);
  },
);

test.each([
  ["keys.csv", "csv"],
  ["a/b.c/Keys.CSV", "csv"],
  ["keys.ndjson", "ndjson"],
  ["keys.2026.jsonl", "ndjson"],
  ["keys.txt", undefined],
  ["csv", undefined],
  ["keys.csv/file", undefined],
])("the format of %s is %s", (name, format) => {
  expect(formatOfKeyFile(name)).toBe(format);
});

test("an empty file has no rows", async () => {
  expect(await read("", "csv")).toEqual([]);
  expect(await read("\n\n", "ndjson")).toEqual([]);
});

test.each([
  ["U+0000", { name: "a\0b" }, "name: Remove U+0000 and incomplete characters."],
  ["U+0000 in a name", { meta: { "\0": 1 } }, "meta: Remove U+0000 and incomplete characters."],
  ["a lone surrogate", { meta: { plan: ["\ud800"] } }, "meta: Remove U+0000 and incomplete characters."],
  ["__proto__", { meta: JSON.parse('{"__proto__":1}') }, "meta: Remove the field named __proto__."],
  ["__proto__ as a field", JSON.parse('{"__proto__":1}'), "Remove the field named __proto__."],
  [
    "too many fields",
    { meta: Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`f${index}`, 1])) },
    "meta: Use at most 1,000 fields in an object.",
  ],
  ["U+0000 in an unknown field", { unknown: "\0" }, "Remove U+0000 and incomplete characters."],
])(
  "reports a row with %s, which no request may contain, and reads the others",
  async (_what, fields, problem) => {
    const lines = [{ hash: "a", ...fields }, { hash: "b" }].map((row) => JSON.stringify(row));
    expect(await read(lines.join("\n"), "ndjson")).toEqual([
      { line: 1, content: { problem } },
      { line: 2, content: { hash: "b" } },
    ]);
  },
);

test("reports a row that is nested too deeply, however deep it is", async () => {
  const nested = (levels: number) => `{"hash":"a","meta":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const [first, ...others] = await read([31, 32, 100_000].map(nested).join("\n"), "ndjson");
  expect(first?.content).toHaveProperty("hash", "a");
  const problem = "meta: Nest objects and lists at most 32 levels deep.";
  expect(others.map(({ content }) => content)).toEqual([{ problem }, { problem }]);
});

test("reports U+0000 in CSV", async () => {
  expect(await read("hash,name\na,x\0y\nb,z", "csv")).toEqual([
    { line: 2, content: { problem: "name: Remove U+0000 and incomplete characters." } },
    { line: 3, content: { hash: "b", name: "z" } },
  ]);
});
