import { test } from "vitest";
import { checkStories } from "../support/admission-model/check-stories.ts";

// Keys are created, renamed, deleted, held to this and that, rotated and used, users disabled and enabled, given roles and
// taken out, the database's clock set forward and back, in random order and at the same time, over two nodes on one
// database. A model says what each answer may be.

test("no random story, told to two nodes, has an answer that is stale or a use that is not counted once", async () => {
  await checkStories({ runs: 15 });
}, 480_000);
