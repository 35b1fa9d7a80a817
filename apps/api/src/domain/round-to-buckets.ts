import { bucketMs } from "./bucket-ms.ts";

/**
 * Rounds both ends of a period up to whole hours or days in UTC, so that the period consists of the buckets that begin in it.
 * If none does, both ends are equal.
 */
export function roundToBuckets({
  from,
  to,
  bucket,
}: {
  readonly from: Date;
  readonly to: Date;
  readonly bucket: keyof typeof bucketMs;
}): { readonly from: Date; readonly to: Date } {
  const length = bucketMs[bucket];
  const roundUp = (time: Date) => new Date(Math.ceil(time.getTime() / length) * length);
  return { from: roundUp(from), to: roundUp(to) };
}
