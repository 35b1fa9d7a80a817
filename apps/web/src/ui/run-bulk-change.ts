import type { BulkChange, BulkFailure } from "./bulk-change.ts";
import type { IssuedSecret } from "./issued-secrets.tsx";

/** The number of concurrent requests. The API processes the changes of one user sequentially. */
const chunkSize = 10;

export interface ItemFailure extends BulkFailure {
  /** The position of the item. */
  readonly index: number;
}

export interface BulkResult {
  /** The number of items that were changed. */
  readonly done: number;
  readonly failures: readonly ItemFailure[];
  readonly secrets: readonly IssuedSecret[];
}

/**
 * Changes items in chunks. If a change fails, the other items are still changed. The exception: if all changes of a chunk are
 * rejected with FORBIDDEN and the same message, the remaining items fail without an attempt. For example, the user canceled the
 * password dialog, which the next chunk would open again.
 * @param onProgress is called after each chunk with the number of items that were changed.
 */
export async function runBulkChange(
  { names, runs, describeError }: Pick<BulkChange, "names" | "runs" | "describeError">,
  onProgress: (done: number) => void,
): Promise<BulkResult> {
  const failures: ItemFailure[] = [];
  const secrets: IssuedSecret[] = [];
  let done = 0;
  for (let start = 0; start < runs.length; start += chunkSize) {
    const chunk = runs.slice(start, start + chunkSize);
    const results = await Promise.allSettled(chunk.map((runOne) => runOne()));
    const failed: ItemFailure[] = [];
    for (const [offset, result] of results.entries()) {
      const index = start + offset;
      const failure = result.status === "rejected" ? describeError(result.reason) : undefined;
      if (failure) failed.push({ ...failure, index });
      if (result.status === "rejected") continue;
      const { isChanged, secret } = result.value;
      if (isChanged) done += 1;
      if (secret !== undefined) secrets.push({ name: names[index] ?? "", secret });
    }
    failures.push(...failed);
    onProgress(done);
    const reason = failed.length === chunk.length ? findCommonRejection(failed) : undefined;
    if (!reason) continue;
    for (let index = start + chunk.length; index < runs.length; index += 1)
      failures.push({ ...reason, index });
    break;
  }
  return { done, failures, secrets };
}

function findCommonRejection([first, ...others]: readonly ItemFailure[]): ItemFailure | undefined {
  return first?.code === "FORBIDDEN" && others.every(({ message }) => message === first.message)
    ? first
    : undefined;
}
