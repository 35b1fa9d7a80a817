import type { Round } from "../rounds.ts";
import type { VerificationName } from "../verification-subjects.ts";
import { valuesOf } from "./figures.ts";
import { type RequiredMultiple, rowOfMultiple, rowOfShare, spread, verdictOf } from "./requirement-rows.ts";
import { type BenchResults, describeRun, describeSetup, explanationOfTables, sectionOf } from "./sections.ts";
import { fixed, renderTable } from "./tables.ts";

const titles: Readonly<Record<VerificationName, string>> = {
  "verify:one": "1 key",
  "verify:one-limit": "1 key with a limit",
  "verify:one-limits": "1 key with three limits",
  "verify:one-credits": "1 key with credits",
  "verify:many": "20,000 keys",
  "verify:many-limit": "20,000 keys with a limit each",
  "verify:many-limits": "20,000 keys with three limits each",
  "verify:many-credits": "20,000 keys with credits",
  "verify-batch:one": "100 verifications per request, 1 key",
  "verify-batch:one-limit": "100 verifications per request, 1 key with a limit",
  "verify-batch:one-limits": "100 verifications per request, 1 key with three limits",
  "verify-batch:one-credits": "100 verifications per request, 1 key with credits",
  "verify-batch:many": "100 verifications per request, 20,000 keys",
  "verify-batch:many-limit": "100 verifications per request, 20,000 keys with a limit each",
  "verify-batch:many-limits": "100 verifications per request, 20,000 keys with three limits each",
  "verify-batch:many-credits": "100 verifications per request, 20,000 keys with credits",
  "better-auth:one": "better-auth, 1 key",
  "better-auth:many": "better-auth, 20,000 keys",
};

const connectionCounts = [64, 256] as const;
const counts = ["one", "many"] as const;
const metersSuffixes = ["", "-limit", "-limits", "-credits"] as const;
type Keys = `${(typeof counts)[number]}${(typeof metersSuffixes)[number]}`;
const requiredShares = {
  one: { required: 0.6, stretch: 0.8 },
  many: { required: 0.4, stretch: 0.6 },
} as const;
const betterAuthMultiple = 25;
const limitsMultiple = 0.6;
const batchMultiple = 5;

/** Creates the text of docs/verification-benchmarks.md. */
export function composeVerificationReport(results: BenchResults): string {
  const { options, rounds } = results;
  return `# Benchmarks of verification

${describeRun(results)} The requests are \`POST /open/keys/verify\` with \`{ "key": … }\`, and \`POST /open/keys/verify-batch\` \
with 100 of them. The caller's API key has the permission \`keys:verify\` and no other. The use of the caller's key and those of \
the verified keys are committed to disk before the response is sent. All keys in use are among 1,000,000 stored keys of one \
workspace. [Benchmarks](benchmarks.md) measures requests that verify no key, and describes the method.

## Requirements

${tableOfRequirements(rounds)}

Bare Koa reads and parses the same bodies, and returns a response that was recorded from Latchkey. "Measured" is the median of \
the rounds, with their range in parentheses. "Met" compares this median with the requirement, and is inconclusive if some \
rounds meet the requirement and others don't.

${options.connections.map((connections) => sectionOf(rounds, titles, connections)).join("\n\n")}

A request with 100 verifications is one request in these tables. Batches of 20,000 keys with limits or credits are not measured with \
256 connections: 25,600 verifications that each update the limits or credits of a different key take about as long as their deadline. \
${explanationOfTables}

${describeSetup(results)}
`;
}

function tableOfRequirements(rounds: readonly Round[]): string {
  const cases = connectionCounts.flatMap((connections) => counts.map((count) => ({ connections, count })));
  const rows = [
    ...cases.map(({ connections, count }) => {
      const subject = nameOf(`verify:${count}`);
      return rowOfShare(rounds, { subject, what: titles[subject], connections, ...requiredShares[count] });
    }),
    ...cases.map(({ connections, count }) => {
      const [subject, to] = [nameOf(`verify:${count}-limits`), nameOf(`verify:${count}-limit`)];
      const toWhat = "the requests/s with one limit";
      return rowOf(rounds, { subject, connections, to, toWhat, required: limitsMultiple });
    }),
    ...cases.flatMap(({ connections, count }) =>
      metersSuffixes.map((suffix) => rowOfBatch(rounds, `${count}${suffix}`, connections)),
    ),
    ...cases.map(({ connections, count }) => {
      const [subject, to] = [nameOf(`verify:${count}`), nameOf(`better-auth:${count}`)];
      return rowOf(rounds, {
        ...{ subject, connections, to, toWhat: "better-auth's requests/s" },
        required: betterAuthMultiple,
      });
    }),
  ];
  return renderTable(["measure", "required", "stretch goal", "measured", "met"], rows, () => true);
}

/** The name of a subject, checked when it is written. */
function nameOf(name: VerificationName): VerificationName {
  return name;
}

function rowOf(
  rounds: readonly Round[],
  multiple: Omit<RequiredMultiple, "what" | "subject"> & { readonly subject: VerificationName },
): string[] {
  return rowOfMultiple(rounds, { ...multiple, what: titles[multiple.subject] });
}

/**
 * The keys per second of batches as a multiple of those of single verifications. Their shares of bare Koa can't be compared,
 * because bare Koa's requests have different sizes.
 */
function rowOfBatch(rounds: readonly Round[], keys: Keys, connections: number): string[] {
  const ratios = rounds.flatMap((round) => {
    const [batch, single] = [nameOf(`verify-batch:${keys}`), nameOf(`verify:${keys}`)].map(
      (subject) => valuesOf([round], "requestsPerSecond", { subject, connections })[0],
    );
    return batch === undefined || single === undefined ? [] : [(100 * batch) / single];
  });
  const what = `${titles[`verify-batch:${keys}`]}, ${connections} connections: multiple of the keys/s of single verifications`;
  const verdict = verdictOf(ratios, (value) => value >= batchMultiple);
  return [what, `≥ ${batchMultiple}`, "–", spread(ratios, (ratio) => fixed(ratio, 1)), verdict];
}
