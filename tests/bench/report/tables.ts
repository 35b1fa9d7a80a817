import type { Measurement } from "../measure/measure.ts";
import { median } from "../measure/statistics.ts";
import type { Round } from "../rounds.ts";
import type { SubjectName } from "../subjects.ts";
import { medianOf } from "./figures.ts";

/** The subjects' names in the report. */
export const subjectTitles: Readonly<Record<SubjectName, string>> = {
  "node:http": "`node:http` only",
  koa: "bare Koa, no authentication",
  "latchkey:one": "Latchkey, 1 key",
  "latchkey:many": "Latchkey, 20,000 keys",
  "latchkey:million": "Latchkey, 20,000 of 1,000,000 keys",
  "latchkey:one-limited": "Latchkey, 1 key with a rate limit",
  "latchkey:many-limited": "Latchkey, 20,000 keys with a rate limit each",
  "latchkey:many-restricted": "Latchkey, 20,000 keys with expiry, IP ranges, permissions",
  "latchkey:workspace": "Latchkey, 20,000 keys, `GET /open/workspaces/{workspaceId}`",
  "latchkey:members": "Latchkey, 20,000 keys, `GET /open/workspaces/{workspaceId}/members`, 25 rows",
  "better-auth:one": "better-auth, 1 key",
  "better-auth:many": "better-auth, 20,000 keys",
};

/** The table for one number of connections, with the titles of the subjects in the order of the rows. */
export function tableOf(
  rounds: readonly Round[],
  titles: Readonly<Record<string, string>>,
  connections: number,
): string {
  const measured = Object.keys(titles).filter(
    (subject) => medianOf(rounds, "requestsPerSecond", { subject, connections }) !== undefined,
  );
  const rows = measured.map((subject) => {
    const of = { subject, connections };
    return [
      titles[subject] ?? subject,
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
  const columns = [
    "",
    "requests/s",
    "share of bare Koa",
    "p50 ms",
    "p99 ms",
    "node µs",
    "Postgres µs",
    "generator µs",
    "WAL bytes",
    "requests per flush",
  ];
  return renderTable(columns, rows);
}

/** One measurement in one line, to show progress. */
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
    measurement.requestsPerFlush && `${fixed(measurement.requestsPerFlush, 1)} requests per flush`,
    measurement.lostShare > disturbed &&
      `disturbed: ${fixed(measurement.lostShare * 100, 0)}% lost to others`,
  ];
  return parts.filter(Boolean).join("  ");
}

/** A measurement that lost a larger share of the processors to other programs is marked as disturbed. */
const disturbed = 0.05;

/** A Markdown table with aligned columns. By default, every column except the first has numbers. */
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

/** The median; undefined for an empty list. */
export function medianOrUndefined(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : median(values);
}

/** An integer; a dash if it wasn't measured. */
export function count(value: number | undefined): string {
  return value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

export function fixed(value: number | undefined, digits: number): string {
  return value === undefined ? "–" : value.toFixed(digits);
}

/** Formats microseconds as milliseconds, with about two significant digits. */
export function milliseconds(microseconds: number | undefined): string {
  if (microseconds === undefined) return "–";
  const value = microseconds / 1_000;
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}
