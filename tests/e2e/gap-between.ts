import type { Locator } from "playwright-core";

/** The distance between the bottom of an element and the top of one below it, in pixels. */
export async function gapBetween(upper: Locator, lower: Locator): Promise<number> {
  const [above, below] = await Promise.all([upper.boundingBox(), lower.boundingBox()]);
  if (!above || !below) throw new Error("An element isn’t visible.");
  return below.y - above.y - above.height;
}
