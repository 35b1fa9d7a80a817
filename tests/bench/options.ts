import { parseArgs } from "node:util";
import { type SubjectName, subjectNames } from "./subjects.ts";

/** What a run of the benchmark does. */
export interface BenchOptions {
  readonly rounds: number;
  /** How many turns of a second each measurement has, between such turns of bare Koa. */
  readonly turns: number;
  /** How long the same load goes before it. */
  readonly warmUpSeconds: number;
  readonly connections: readonly number[];
  readonly subjects: readonly SubjectName[];
  /** Requests after which a node's memory is read; 0 leaves it out. */
  readonly memoryRequests: number;
  /** Whether docs/benchmarks.md is written. */
  readonly isWritten: boolean;
  /** How it was called, for the report. */
  readonly command: string;
}

export const usage = `pnpm bench [options]
  --rounds N        how often everything is measured (7)
  --turns N         how many turns of a second each measurement has (1), each after a second that is not counted
  --warm-up N       how long the same load goes before it, in seconds (5)
  --connections A,B numbers of connections (1,64,256)
  --only A,B        of ${subjectNames.join(", ")}
  --memory N        requests after which memory is read, 0 for none (1000000)
  --quick           one round of one turn, without better-auth, the million and memory
  --write           writes docs/benchmarks.md, which otherwise only a run without options does
`;

const quick = {
  rounds: "1",
  turns: "1",
  "warm-up": "3",
  memory: "0",
  only: "node:http,koa,latchkey:one,latchkey:many",
};
/**
 * V8 goes on compiling for some five seconds of full load, longest where there is most code. Processes of one code differ
 * by a tenth, so that more rounds, each with fresh ones, tell more than more turns of the same.
 */
const full = { rounds: "7", turns: "1", "warm-up": "5", memory: "1000000", only: subjectNames.join() };

/**
 * Undefined when asked for help.
 * @throws an Error, with what is wrong, for what the command line does not allow.
 */
export function readOptions(args: readonly string[]): BenchOptions | undefined {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: text,
      turns: text,
      "warm-up": text,
      connections: text,
      only: text,
      memory: text,
      quick: flag,
      write: flag,
      help: flag,
    },
  });
  if (values.help) return undefined;
  const chosen = { connections: "1,64,256", ...(values.quick ? quick : full), ...values };
  return {
    rounds: readNumber("rounds", chosen.rounds),
    turns: readNumber("turns", chosen.turns),
    warmUpSeconds: readNumber("warm-up", chosen["warm-up"]),
    memoryRequests: readNumber("memory", chosen.memory, 0),
    connections: chosen.connections.split(",").map((number) => readNumber("connections", number)),
    subjects: chosen.only.split(",").map(readSubject),
    isWritten: values.write || args.length === 0,
    command: ["pnpm bench", ...args].join(" "),
  };
}

function readNumber(name: string, text: string, least = 1): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least)
    throw new Error(`--${name} takes whole numbers.\n${usage}`);
  return number;
}

function readSubject(name: string): SubjectName {
  const subject = subjectNames.find((known) => known === name);
  if (!subject) throw new Error(`There is no ${name} to measure.\n${usage}`);
  return subject;
}
