import { type Account, type CreatedKey, callProcedure } from "./account.ts";

/** What became of the keys that somebody asked for, one after the other. */
export interface Made {
  /** Those that were made and shown. */
  readonly keys: readonly CreatedKey[];
  /** The statuses of the requests that made none; 0 where there was no answer of the product's. */
  readonly failures: readonly number[];
}

/** Makes one key after the other until told to stop. Nothing in between may repeat such a request. */
export function startMakingKeys(
  baseUrl: string,
  { cookie }: Account,
): { readonly stop: () => Promise<Made> } {
  const keys: CreatedKey[] = [];
  const failures: number[] = [];
  let isOver = false;
  const ended = (async () => {
    while (!isOver) {
      const call = { path: "apiKeys.create", kind: "mutation", input: { name: "made" }, cookie } as const;
      const answer = await callProcedure(baseUrl, call).catch(() => undefined);
      if (answer?.status === 200)
        keys.push(answer.data as CreatedKey); // The router's type for this procedure.
      else failures.push(answer?.status ?? 0);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await ended;
      return { keys, failures };
    },
  };
}
