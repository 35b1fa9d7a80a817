import { version } from "./version.ts";

/** The message for the operator when a node is ready. */
export interface ReadyFacts {
  readonly baseUrl: string;
  /** Where the data and the programs of the embedded Postgres are, and why, if they aren't where an operator expects them. */
  readonly locationNote: string | undefined;
  readonly hasUsers: boolean;
}

export function formatReadyMessage({ baseUrl, locationNote, hasUsers }: ReadyFacts): string {
  const lines = [
    "",
    `  Latchkey ${version} is ready at ${baseUrl}`,
    ...(locationNote ? [`  ${locationNote}`] : []),
    "",
    hasUsers
      ? `  1. Sign in at ${baseUrl}/sign-in`
      : `  1. Sign up at ${baseUrl}/sign-up. The first account becomes the operator.`,
    "  2. Create an API key: open Your API keys in the sidebar and select New API key.",
    `  3. Call the open API: curl ${baseUrl}/open/global/config -H "Authorization: Bearer $API_KEY"`,
    "",
    "  Press Ctrl-C to stop everything.",
    "",
  ];
  return `${lines.join("\n")}\n`;
}
