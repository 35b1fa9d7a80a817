import { createConfig, lintFromString } from "@redocly/openapi-core";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { endpoints } from "../src/open/endpoints.ts";
import { createOpenApiDocument } from "../src/open/openapi-document.ts";
import { secretStatus } from "../src/schemas.ts";

interface Media {
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, unknown>>;
}
interface Part {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly "x-permission": string | null;
  readonly parameters: readonly { readonly $ref?: string; readonly in?: string; readonly schema?: object }[];
  readonly requestBody?: Part;
  readonly responses: Readonly<Record<string, Part & { readonly $ref?: string }>>;
}
interface Document {
  readonly info: { readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Part>> };
}

function describe(list = endpoints): Document {
  const instance = { baseUrl: "https://keys.latchkey.test", version: "0.1.0" };
  return createOpenApiDocument(list, instance) as Document; // The parts that the tests read.
}

function operationsOf(document: Document): readonly Operation[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path));
}

/** Returns the errors and warnings of Redocly's `recommended` rules as text. */
async function lint(document: object): Promise<string[]> {
  const config = await createConfig({
    extends: ["recommended"],
    rules: {
      // The product has no license: its package.json says UNLICENSED.
      "info-license": "off",
    },
  });
  const problems = await lintFromString({ source: JSON.stringify(document), config });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer ?? "the document"})`,
  );
}

test("the document follows Redocly's recommended rules", async () => {
  expect(await lint(describe())).toEqual([]);
});

test("the lint finds duplicate operation IDs and invalid examples", async () => {
  const document = describe();
  const [operation] = operationsOf(document);
  const broken = JSON.parse(
    JSON.stringify(document).replace(
      `"operationId":"${operation?.operationId}"`,
      '"operationId":"listMembers"',
    ),
  );
  broken.paths["/me"].get.responses["200"].content["application/json"].example.user.name = 3;
  expect((await lint(broken)).toSorted()).toEqual([
    expect.stringContaining("no-invalid-media-type-examples"),
    expect.stringContaining("operation-operationId-unique"),
  ]);
});

test("every body has a complete example, and 204 responses have no content", () => {
  const document = describe();
  const parts = operationsOf(document).flatMap(({ requestBody, responses }) => [
    ...(requestBody ? [requestBody] : []),
    ...Object.values(responses).filter(({ $ref }) => !$ref),
  ]);
  for (const part of [...parts, ...Object.values(document.components.responses)]) {
    for (const media of Object.values(part.content ?? {})) {
      expect(media.example !== undefined || media.examples !== undefined).toBe(true);
      expect(hasMissingMember(media.example)).toBe(false);
    }
  }
  const noContent = operationsOf(document).filter(({ responses }) => responses["204"]);
  expect(noContent.map(({ responses }) => responses["204"]?.content)).toEqual(noContent.map(() => undefined));
});

/** Whether a member is undefined because it has no example. */
function hasMissingMember(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((member) => member === undefined || hasMissingMember(member));
}

const accessTexts = {
  key: /Requires a valid key\.$/,
  "unrestricted-key":
    /Requires a key that isn't restricted to workspaces, permissions or read-only access\.$/,
};

test("every response with a secret has a secretStatus", () => {
  const issuing = endpoints.flatMap(({ operationId, secrets, response }) =>
    secrets ? [{ operationId, secrets, shape: response.schema?.shape ?? {} }] : [],
  );
  const names = issuing.map(({ operationId }) => operationId);
  expect(names).toEqual(expect.arrayContaining(["rotateApiKey", "rotateIssuedKeys"]));
  for (const { secrets, shape } of issuing) {
    const { list, member } = secrets;
    // The items of a list are objects.
    const holder = list === undefined ? shape : (shape[list] as z.ZodArray<z.ZodObject>).element.shape;
    const { secretStatus: status, ...members } = holder;
    expect(status).toBe(secretStatus);
    expect(Object.keys(members)).toContain(member);
  }
});

test("every operation names its permission in the description and in x-permission", () => {
  for (const endpoint of endpoints) {
    const operation = operationsOf(describe()).find(
      ({ operationId }) => operationId === endpoint.operationId,
    );
    const permission = typeof endpoint.access === "object" ? endpoint.access.workspace : null;
    expect(operation?.["x-permission"]).toBe(permission);
    expect(operation?.description).toMatch(
      permission ? `Requires \`${permission}\`.` : accessTexts[endpoint.access as keyof typeof accessTexts],
    );
  }
});

test("the introduction lists the permissions of each role", () => {
  const { description } = describe().info;
  expect(description).toMatch(/\| `members:manage` \| [^|]+ \| owner, admin \|/);
  expect(description).toMatch(/\| `workspace:read` \| [^|]+ \| owner, admin, member, viewer \|/);
});

test("operations declare the request headers that they support", () => {
  const named = operationsOf(describe()).flatMap(({ operationId, parameters }) =>
    parameters.flatMap(({ $ref }) => ($ref ? [`${operationId} ${$ref.split("/").at(-1)}`] : [])),
  );
  const declared = endpoints.flatMap(({ operationId, method, request, response, verifies }) => {
    const isTagged = method === "GET" && "hasEtag" in response;
    return [
      ...(method === "POST" ? [`${operationId} IdempotencyKey${verifies ? "OfVerification" : ""}`] : []),
      ...(request.ifMatch || isTagged ? [`${operationId} IfMatch`] : []),
      ...(isTagged ? [`${operationId} IfNoneMatch`] : []),
    ];
  });
  expect(named).toEqual(declared);
});

test("a repeated verification is not a replay, and its example is consistent", () => {
  const verifications = operationsOf(describe()).filter(({ operationId }) =>
    /^verifyKeys?$/.test(operationId),
  );
  expect(verifications).toHaveLength(2);
  for (const { responses } of verifications) {
    expect(Object.keys(responses["200"]?.headers ?? {})).not.toContain("Idempotent-Replayed");
    expect(Object.keys(responses)).not.toContain("409");
    const example = responses["200"]?.content?.["application/json"]?.example as { data?: object[] };
    for (const result of example.data ?? [example]) {
      const { valid, code, keyId, keyspaceId } = result as Record<string, unknown>; // A result is an object.
      expect(valid).toBe(code === "VALID");
      if (valid) expect([keyId, keyspaceId]).toEqual([expect.stringMatching(/^ikey_/), expect.any(String)]);
    }
  }
  const batch = verifications.find(({ operationId }) => operationId === "verifyKeys");
  const exampleOf = (part: Part | undefined) => part?.content?.["application/json"]?.example;
  expect(exampleOf(batch?.requestBody)).toMatchObject({ verifications: { length: 2 } });
  expect(exampleOf(batch?.responses["200"])).toMatchObject({ data: { length: 2 } });
});

test("429 describes the quota of each operation that has one", () => {
  const quotas = {
    KeyChanges: [
      ...["updateApiKey", "rotateApiKey", "createServiceAccountApiKey"],
      ...["updateServiceAccountApiKey", "rotateServiceAccountApiKey"],
    ],
    IssuedSecrets: [
      ...["createIssuedKey", "updateIssuedKey", "changeIssuedKeys"],
      ...["rotateIssuedKey", "rotateIssuedKeys"],
    ],
    Invitations: ["createInvitation", "resendInvitation"],
    IdempotencyKeys: ["verifyKey", "verifyKeys"],
    Exports: ["exportAuditEvents"],
  };
  const operations = operationsOf(describe());
  const listWith = (quota: string) =>
    operations
      .filter(({ responses }) => responses["429"]?.$ref?.split("/").at(-1)?.split("Or").includes(quota))
      .map(({ operationId }) => operationId)
      .sort();
  for (const [quota, expected] of Object.entries(quotas)) expect(listWith(quota)).toEqual(expected.sort());
  const posts = endpoints.filter(({ method, verifies }) => method === "POST" && !verifies);
  expect(listWith("NewIdempotencyKeys")).toEqual(posts.map(({ operationId }) => operationId).sort());
});

test("the 409 of a change to a balance has an example with the field", () => {
  const { responses } = describe().components;
  const examples =
    responses.BalanceConflictOrRequestInProgress?.content?.["application/json"]?.examples ?? {};
  expect(examples).toMatchObject({
    BalanceConflict: {
      value: { error: { code: "CONFLICT", issues: [{ path: "subtract", code: "too_large" }] } },
    },
  });
});

test("errors with the same status share a response, and a header is required only if all have it", () => {
  const document = describe([
    defineEndpoint({
      method: "POST",
      path: "/things",
      operationId: "createThing",
      summary: "Create a thing",
      description: "Makes one.",
      access: "key",
      request: { body: z.strictObject({ name: z.string().meta({ example: "Thing" }) }) },
      response: { status: 201, description: "The result.", schema: z.object({ ok: z.boolean() }) },
      errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
      handle: () => ({ ok: true }),
    }),
  ]);
  const { responses } = document.components;
  const conflict = responses.ConflictOrRequestInProgress;
  expect(Object.keys(conflict?.content?.["application/json"]?.examples ?? {})).toEqual([
    "Conflict",
    "RequestInProgress",
  ]);
  expect(conflict?.headers?.["Retry-After"]?.required).toBe(false);
  expect(Object.keys(responses)).toContain("UnprocessableContentOrIdempotencyKeyReused");
  expect(Object.keys(document.paths["/things"]?.post?.responses ?? {})).toEqual([
    "201",
    "400",
    "401",
    "403",
    "408",
    "409",
    "413",
    "415",
    "422",
    "429",
    "431",
    "500",
    "503",
  ]);
});
