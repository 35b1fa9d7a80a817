import { test } from "vitest";
import { env } from "../env.ts";
import { checkStories } from "../support/admission-model/check-stories.ts";

test("many more random stories have no answer that is stale and no use that is not counted once", async () => {
  await checkStories({ runs: 10, seconds: env.soakSeconds });
});
