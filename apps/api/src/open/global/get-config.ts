import { z } from "zod";
import { defineEndpoint } from "../../http/endpoint.ts";
import { ownAddress, timestamp } from "../../schemas.ts";

const configuration = z
  .object({
    name: z.string().meta({ example: "Latchkey" }),
    version: z.string().meta({ example: "0.1.0" }),
    baseUrl: ownAddress.meta({ example: "https://keys.example.com" }),
    registration: z.enum(["open", "invite", "closed"]).meta({ description: "Who may sign up." }),
    authProviders: z.array(z.enum(["password"])).meta({ description: "How people may sign in." }),
    documentationUrl: ownAddress.meta({ example: "https://keys.example.com/docs" }),
    openapiUrl: ownAddress.meta({ example: "https://keys.example.com/openapi.json" }),
    serverTime: timestamp,
  })
  .meta({ id: "Configuration" });

export const getConfig = defineEndpoint({
  method: "GET",
  path: "/global/config",
  operationId: "getConfiguration",
  summary: "The instance's public configuration",
  description: "What the instance says of itself, and what time it is there: the first test of a new key.",
  access: "key",
  request: {},
  response: { status: 200, schema: configuration },
  errors: [],
  handle: (_input, { configuration, now }) => ({ ...configuration, serverTime: toText(now) }),
});

let latest: { readonly atMs: number; readonly text: string } | undefined;

/** A time in ISO 8601, made once a millisecond: to make it takes longer than all else here (docs/decisions/0008). */
function toText(time: Date): string {
  const atMs = time.getTime();
  if (latest?.atMs !== atMs) latest = { atMs, text: time.toISOString() };
  return latest.text;
}
