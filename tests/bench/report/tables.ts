import type { Measurement } from "../measure/measure.ts";
import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";
import { type SubjectName, subjectNames } from "../subjects.ts";
import { medianOf } from "./figures.ts";

/** What a reader calls the subjects. */
export const subjectTitles: Readonly<Record<SubjectName, string>> = {
  "node:http": "`node:http`, nothing else",
  koa: "bare Koa, no authentication",
  "latchkey:one": "Latchkey, 1 key",
  "latchkey:many": "Latchkey, 20,000 keys",
  "latchkey:million": "Latchkey, 20,000 of 1,000,000 keys",
  "latchkey:one-limited": "Latchkey, 1 key with a limit",
  "latchkey:many-limited": "Latchkey, 20,000 keys with a limit each",
  "latchkey:many-narrowed": "Latchkey, 20,000 keys with an end, addresses, permissions",
  "better-auth:one": "better-auth, 1 key",
  "better-auth:many": "better-auth, 20,000 keys",
};

/** The table of one number of connections. */
export function tableOf(rounds: readonly Round[], connections: number): string {
  const measured = subjectNames.filter(
    (subject) => medianOf(rounds, "requestsPerSecond", { subject, connections }) !== undefined,
  );
  const rows = measured.map((subject) => {
    const of = { subject, connections };
    return [
      subjectTitles[subject],
      count(medianOf(rounds, "requestsPerSecond", of)),
      fixed(medianOf(rounds, "koaShare", of), 2),
      milliseconds(medianOf(rounds, "p50Microseconds", of)),
      milliseconds(medianOf(rounds, "p99Microseconds", of)),
      fixed(medianOf(rounds, "nodeMicroseconds", of), 1),
      fixed(medianOf(rounds, "postgresMicroseconds", of), 1),
      fixed(medianOf(rounds, "generatorMicroseconds", of), 1),
      count(medianOf(rounds, "walBytes", of)),
      fixed(medianOf(rounds, "requestsPerFlush", of), 1),
    ];
  });
  const titles = [
    "",
    "requests/s",
    "to bare Koa",
    "p50 ms",
    "p99 ms",
    "node µs",
    "Postgres µs",
    "load µs",
    "WAL bytes",
    "requests a flush",
  ];
  return renderTable(titles, rows);
}

/** One measurement on one line, while they are being made. */
export function describeMeasurement(measurement: Measurement): string {
  const { subject, connections, requestsPerSecond, p50Microseconds, p99Microseconds } = measurement;
  const parts = [
    subject.padEnd(16),
    `${connections} connections`.padStart(15),
    `${count(requestsPerSecond)}/s`.padStart(9),
    `${fixed(measurement.koaShare, 2)} of Koa`,
    `p50 ${milliseconds(p50Microseconds)} ms`,
    `p99 ${milliseconds(p99Microseconds)} ms`,
    `node ${fixed(measurement.nodeMicroseconds, 1)} µs`,
    `load ${fixed(measurement.generatorMicroseconds, 1)} µs`,
    measurement.postgresMicroseconds && `Postgres ${fixed(measurement.postgresMicroseconds, 1)} µs`,
    measurement.walBytes && `WAL ${count(measurement.walBytes)} bytes`,
    measurement.requestsPerFlush && `${fixed(measurement.requestsPerFlush, 1)} a flush`,
    measurement.lostShare > disturbed &&
      `disturbed: ${fixed(measurement.lostShare * 100, 0)} % lost to others`,
  ];
  return parts.filter(Boolean).join("  ");
}

/** More than this share of the processors lost to others is worth a word. */
const disturbed = 0.05;

/** A table in Markdown, its columns aligned. Every column but the first holds figures unless told otherwise. */
export function renderTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  isText: (column: number) => boolean = (column) => column === 0,
): string {
  const widths = titles.map((_, column) =>
    Math.max(3, ...[titles, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths
      .map((width, column) => {
        const cell = cells[column] ?? "";
        return isText(column) ? cell.padEnd(width) : cell.padStart(width);
      })
      .join(" | ")} |`;
  const rule = widths.map((width, column) =>
    isText(column) ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  return [line(titles), line(rule), ...rows.map(line)].join("\n");
}

/** The median; undefined of none. */
export function middleOf(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : median(values);
}

/** A whole number; a dash for what was not measured. */
export function count(value: number | undefined): string {
  return value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

export function fixed(value: number | undefined, digits: number): string {
  return value === undefined ? "–" : value.toFixed(digits);
}

/** Microseconds as milliseconds, with two digits that matter. */
export function milliseconds(microseconds: number | undefined): string {
  if (microseconds === undefined) return "–";
  const value = microseconds / 1_000;
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
