import { accessSync, constants, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** The in-memory file system of Linux. */
const memory = "/dev/shm";

/**
 * The most memory that the clusters of a test run take, and the memory that must be left for everything else, in bytes.
 */
const clusterBytes = 2 * 2 ** 30;
const otherBytes = 2 * 2 ** 30;

/**
 * The directory for test clusters: in memory if there is room, because a cluster on disk takes twice the processor
 * time; otherwise the system's temporary directory.
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
