import { join } from "node:path";
import { expect, test } from "vitest";
import { StartError } from "../start-error.ts";
import { readStaticFiles } from "./static-files.ts";

test("reports a web app that isn't built, with the command that builds it", async () => {
  const directory = join(import.meta.dirname, "not-built");
  const failure = readStaticFiles(directory);
  await expect(failure).rejects.toBeInstanceOf(StartError);
  await expect(failure).rejects.toThrow(
    `The web app is not built: ${directory} does not exist. Build it with \`npx -y pnpm@12 build\`.`,
  );
});
