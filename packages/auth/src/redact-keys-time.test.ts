import { measureLeastCpuMs } from "@latchkey/db/testing/cpu-time";
import { expect, test } from "vitest";
import { redactKeys } from "./redact-keys.ts";

// Not among the tests that run against mutants, which are slower.

test("takes linear time", async () => {
  const forged = `acme_${"0".repeat(36)}`; // Has the form of a key, so that its checksum is computed.
  const texts = [
    ...[forged.repeat(400), "_".repeat(16_000), "a".repeat(16_000)],
    "lk_".repeat(5_400),
    "%25".repeat(5_400),
    `${"%25".repeat(5_400)}6`,
    "lk_0".repeat(4_000),
  ];
  const leastMs = await measureLeastCpuMs(() => {
    for (const text of texts) redactKeys(text);
  });
  expect(leastMs).toBeLessThan(20);
});
