import { parseArgs } from "node:util";

/** The options of a run of a benchmark. */
export interface BenchOptions {
  readonly rounds: number;
  /** The number of turns per measurement. A turn takes one second and runs between two turns of bare Koa. */
  readonly turns: number;
  /** How long the same load runs before the first turn. */
  readonly warmUpSeconds: number;
  readonly connections: readonly number[];
  readonly subjects: readonly string[];
  /** The number of requests after which the memory of a node is measured; 0 to skip it. */
  readonly memoryRequests: number;
  /** Whether docs/benchmarks.md is written. */
  readonly isWritten: boolean;
  /** The command line, for the report. */
  readonly command: string;
}

/** A benchmark, and its defaults. */
export interface Benchmark {
  /** The command without its options. */
  readonly command: string;
  readonly subjects: readonly string[];
  /** The subjects of a run with `--quick`. */
  readonly quickSubjects: readonly string[];
  readonly connections: string;
  readonly rounds: number;
  readonly memoryRequests: number;
}

function usageOf({ command, subjects, connections, rounds, memoryRequests }: Benchmark): string {
  return `${command} [options]
  --rounds N        number of rounds; each measures every case (${rounds})
  --turns N         number of turns per measurement, one second each, after a second that isn't counted (1)
  --warm-up N       duration of the load before the first turn, in seconds (5)
  --connections A,B numbers of connections (${connections})
  --only A,B        of ${subjects.join(", ")}
  --memory N        requests after which memory is measured, 0 to skip (${memoryRequests})
  --quick           one round of one turn of the most important cases
  --write           write docs/benchmarks.md, which is the default without options
`;
}

/**
 * V8 compiles for about five seconds under full load, and longer for more code. Processes that run the same code
 * differ by 10%, so more rounds, each with new processes, are more accurate than more turns.
 */
const full = { turns: "1", "warm-up": "5" };
const quick = { rounds: "1", turns: "1", "warm-up": "3", memory: "0" };

/**
 * Returns the usage for `--help`.
 * @throws an Error that explains what is wrong with the command line.
 */
export function readOptions(args: readonly string[], benchmark: Benchmark): BenchOptions | string {
  const usage = usageOf(benchmark);
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
  if (values.help) return usage;
  const defaults = values.quick
    ? { ...quick, only: benchmark.quickSubjects.join() }
    : {
        ...full,
        rounds: String(benchmark.rounds),
        memory: String(benchmark.memoryRequests),
        only: benchmark.subjects.join(),
      };
  const chosen = { connections: benchmark.connections, ...defaults, ...values };
  const readNumber = (name: string, text: string, least = 1): number => {
    const number = Number(text);
    if (!Number.isInteger(number) || number < least)
      throw new Error(`--${name}: expected an integer of at least ${least}.\n${usage}`);
    return number;
  };
  const subjects = chosen.only.split(",");
  const unknown = subjects.find((name) => !benchmark.subjects.includes(name));
  if (unknown !== undefined) throw new Error(`--only: unknown subject ${unknown}.\n${usage}`);
  return {
    rounds: readNumber("rounds", chosen.rounds),
    turns: readNumber("turns", chosen.turns),
    warmUpSeconds: readNumber("warm-up", chosen["warm-up"]),
    memoryRequests: readNumber("memory", chosen.memory, 0),
    connections: chosen.connections.split(",").map((number) => readNumber("connections", number)),
    subjects,
    isWritten: values.write || args.length === 0,
    command: [benchmark.command, ...args].join(" "),
  };
}
