import { parseArgs } from "node:util";
import { type SubjectName, subjectNames } from "./subjects.ts";

/** The options of a run of the benchmark. */
export interface BenchOptions {
  readonly rounds: number;
  /** The number of turns per measurement. A turn takes one second and runs between two turns of bare Koa. */
  readonly turns: number;
  /** How long the same load runs before the first turn. */
  readonly warmUpSeconds: number;
  readonly connections: readonly number[];
  readonly subjects: readonly SubjectName[];
  /** The number of requests after which the memory of a node is measured; 0 to skip it. */
  readonly memoryRequests: number;
  /** Whether docs/benchmarks.md is written. */
  readonly isWritten: boolean;
  /** The command line, for the report. */
  readonly command: string;
}

export const usage = `pnpm bench [options]
  --rounds N        number of rounds; each measures every case (7)
  --turns N         number of turns per measurement, one second each, after a second that isn't counted (1)
  --warm-up N       duration of the load before the first turn, in seconds (5)
  --connections A,B numbers of connections (1,64,256)
  --only A,B        of ${subjectNames.join(", ")}
  --memory N        requests after which memory is measured, 0 to skip (1000000)
  --quick           one round of one turn, without better-auth, the million keys and memory
  --write           write docs/benchmarks.md, which is the default without options
`;

const quick = {
  rounds: "1",
  turns: "1",
  "warm-up": "3",
  memory: "0",
  only: "node:http,koa,latchkey:one,latchkey:many",
};
/**
 * V8 compiles for about five seconds under full load, and longer for more code. Processes that run the same code
 * differ by 10%, so more rounds, each with new processes, are more accurate than more turns.
 */
const full = { rounds: "7", turns: "1", "warm-up": "5", memory: "1000000", only: subjectNames.join() };

/**
 * Returns undefined for `--help`.
 * @throws an Error that explains what is wrong with the command line.
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
    throw new Error(`--${name}: expected an integer of at least ${least}.\n${usage}`);
  return number;
}

function readSubject(name: string): SubjectName {
  const subject = subjectNames.find((known) => known === name);
  if (!subject) throw new Error(`--only: unknown subject ${name}.\n${usage}`);
  return subject;
}
