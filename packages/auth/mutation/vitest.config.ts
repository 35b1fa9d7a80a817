import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The tests that run against every mutant. None of them needs Postgres. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, ".."),
    // Only ends what hangs without mutations, on a busy machine too. Stryker itself ends mutants that hang.
    testTimeout: 60_000,
    include: [
      "src/{client-network,fair-cache,fair-semaphore,ip-ranges,isolation,key-format,known-device,permissions}.test.ts",
      "src/{redact-keys,relying-party,restrictions,size-classes}.test.ts",
      "src/admission/{answer,batch,caller-counts,decision,facts-cache,scheduler}.test.ts",
      "src/statistics/{bounds,hour-counters,last-seen-recorder,rejection-log}.test.ts",
      "src/verification/{api-key-target,assumed-state,choose-batch,copies-cache}.test.ts",
      "src/verification/{decide-request,decide-verification,isolation-names,list-owners,meters}.test.ts",
      "src/verification/{permission-query,request-names,request-targets}.test.ts",
      "src/verification/{split-on-failure,task-queue,verification-results}.test.ts",
    ],
  },
});
