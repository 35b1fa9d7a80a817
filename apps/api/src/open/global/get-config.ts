import { z } from "zod";
import { authProviders } from "../../domain/services.ts";
import { defineEndpoint } from "../../http/endpoint.ts";
import { shownIdentifier, shownUrl, timestamp } from "../../schemas.ts";

const configuration = z
  .object({
    name: shownIdentifier.meta({ example: "Latchkey" }),
    version: shownIdentifier.meta({ example: "0.1.0" }),
    baseUrl: shownUrl.meta({ example: "https://keys.example.com" }),
    registration: z.enum(["open", "invite", "closed"]).meta({
      description:
        "Who can sign up. `open`: everyone. `invite`: people who are invited to a workspace. `closed`: only users that the operator creates.",
    }),
    authProviders: z
      .array(z.enum(authProviders))
      .meta({ maxItems: authProviders.length, description: "The ways to sign in." }),
    documentationUrl: shownUrl.meta({ example: "https://keys.example.com/docs" }),
    openapiUrl: shownUrl.meta({ example: "https://keys.example.com/openapi.json" }),
    serverTime: timestamp,
  })
  .meta({ id: "Configuration" });

export const getConfig = defineEndpoint({
  method: "GET",
  path: "/global/config",
  operationId: "getConfiguration",
  summary: "Get the configuration of the instance",
  description:
    "Returns the instance's configuration and its current time. Use it as a first request with a new key.",
  access: "key",
  request: {},
  response: { status: 200, description: "The configuration of the instance.", schema: configuration },
  errors: [],
  handle: (_input, { services, now }) => ({ ...services.configuration, serverTime: now.toISOString() }),
});
