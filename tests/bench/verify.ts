import { composeVerificationReport } from "./report/verification-report.ts";
import { runBenchmark } from "./run-benchmark.ts";
import { prepareVerifications, verificationNames } from "./verification-subjects.ts";

// `pnpm bench:verify`: compares the verification of issued keys with alternatives, and writes
// docs/verification-benchmarks.md.

await runBenchmark({
  command: "pnpm bench:verify",
  subjects: verificationNames,
  quickSubjects: ["verify:one", "verify:many", "verify-batch:many"],
  connections: "64,256",
  rounds: 5,
  memoryRequests: 0,
  memorySubject: undefined,
  prepare: prepareVerifications,
  document: "verification-benchmarks.md",
  compose: composeVerificationReport,
});
