import { createRequire } from "node:module";
import { join } from "node:path";
import { inflate } from "@sparticuz/chromium";

const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
const archives = join(entry, "../../bin");

// `al2023` contains the libraries that machines without desktop packages lack.
await Promise.all(
  ["chromium.br", "fonts.tar.br", "al2023.tar.br"].map((archive) => inflate(join(archives, archive))),
);
