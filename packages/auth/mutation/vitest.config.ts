import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The tests that run against every mutant. None of them needs Postgres. */
export default defineConfig({
  test: {
    root: join(import.meta.dirname, ".."),
    include: [
      "src/{client-network,fair-cache,ip-ranges,key-format,permissions,restrictions}.test.ts",
      "src/admission/{answer,batch,decision,facts-cache,scheduler}.test.ts",
      "src/statistics/{bounds,hour-counters,last-seen-recorder,rejection-log}.test.ts",
      "src/verification/{assumed-state,choose-batch,decide-request,decide-verification,isolation}.test.ts",
      "src/verification/{meters,permission-query,request-names,request-targets,verification-results}.test.ts",
    ],
  },
});
