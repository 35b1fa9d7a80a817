import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Linux's file system in memory. */
const memory = "/dev/shm";

/** What the clusters of a whole run may take at once, and the memory that must be left for everything else, in bytes. */
const clusterBytes = 2 * 2 ** 30;
const otherBytes = 2 * 2 ** 30;

/**
 * Where tests put clusters: in memory if it has room, because a cluster takes twice the processor time on a disk; else in
 * the system's directory for temporary files.
 */
export const scratchDirectory = hasRoomInMemory() ? memory : tmpdir();

function hasRoomInMemory(): boolean {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= clusterBytes && process.availableMemory() >= clusterBytes + otherBytes;
  } catch {
    return false;
  }
}
