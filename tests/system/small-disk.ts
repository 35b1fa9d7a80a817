import { execFile } from "node:child_process";
import { mkdir, open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createDirectory } from "../support/product.ts";

const run = promisify(execFile);

/** A file system in memory that can be filled. Only root can create one. */
export interface SmallDisk {
  readonly directory: string;
  /** Fills the remaining space. */
  readonly fill: () => Promise<void>;
  /** Frees the space that `fill` took. */
  readonly free: () => Promise<void>;
  readonly freeBytes: () => Promise<number>;
  /** Unmounts it with all of its content, even if it is in use. */
  readonly unmount: () => Promise<void>;
}

export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const parent = await createDirectory();
  const directory = join(parent, "disk");
  const filler = join(directory, "filler");
  await mkdir(directory);
  await run("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "latchkey-test", directory]);
  return {
    directory,
    async fill() {
      const file = await open(filler, "a");
      const chunk = Buffer.alloc(65_536, "x");
      try {
        // More than its size.
        for (let written = 0; written < (megabytes + 1) * 2 ** 20; written += chunk.length)
          await file.write(chunk);
        throw new Error("The disk is larger than it was made.");
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler, { force: true }),
    async freeBytes() {
      const { bavail, bsize } = await statfs(directory);
      return bavail * bsize;
    },
    async unmount() {
      await run("umount", ["--lazy", directory]);
      await rm(parent, { recursive: true, force: true });
    },
  };
}
