import type { VerificationResult } from "@latchkey/auth/verification";
import { defineVerificationEndpoint } from "../../http/endpoint.ts";
import { formatVerification, verificationResult } from "../../presenters/verification.ts";
import { readVerification } from "../../read-verification.ts";
import { toVerification, verificationRequest } from "../../verification-fields.ts";

export const verifyKey = defineVerificationEndpoint({
  path: "/keys/verify",
  operationId: "verifyKey",
  summary: "Verify a key",
  description:
    "Checks an issued key and, if it is valid, spends its limits and credits, all or nothing. The response is 200 whether or not the key is valid: check `valid`. You need `keys:verify` in the key's workspace; without it, the result is `NOT_FOUND`, as for a key that doesn't exist. A limit in `limits` that neither the key nor its consumer has is an error (400).",
  request: { body: verificationRequest.meta({ example: { key: "acme_…", permissions: "documents.read" } }) },
  response: { status: 200, description: "The result.", schema: verificationResult },
  errors: [],
  verifications: (body) => [toVerification(body)],
  readCommon: (body) => {
    const verification = readVerification(body);
    return verification && [verification];
  },
  format: ([result]) => formatVerification(result as VerificationResult), // One for each verification.
  pathOf: () => "",
});
