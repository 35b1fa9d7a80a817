import pg from "pg";
import { vi } from "vitest";

/**
 * Calls `onSent` after a verifier or admission sends a statement, with the name or the text of the statement. If it returns a promise,
 * the result of the statement arrives after the promise resolves.
 * @returns a function that ends the interception.
 */
export function interceptStatements(
  onSent: (statement: string, client: pg.Client) => Promise<unknown> | undefined,
): () => void {
  const { query } = pg.Client.prototype;
  const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...parameters
  ) {
    const result = Reflect.apply(query, this, parameters);
    const [config] = parameters as unknown as [string | { readonly name?: string }]; // One of the driver's overloads.
    const name = typeof config === "string" ? config : config.name;
    if (!name || !/^(verify-|admit-|begin|commit|rollback)/.test(name)) return result;
    const held = onSent(name, this);
    return held ? Promise.allSettled([result, held]).then(() => result) : result;
  });
  return () => spy.mockRestore();
}
