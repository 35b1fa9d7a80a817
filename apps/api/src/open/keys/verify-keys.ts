import { verificationLimits } from "@latchkey/limits";
import { z } from "zod";
import { defineVerificationEndpoint } from "../../http/endpoint.ts";
import { formatVerification, verificationResults } from "../../presenters/verification.ts";
import { readVerifications } from "../../read-verification.ts";
import { toVerification, verificationRequest } from "../../verification-fields.ts";

const { maxVerifications } = verificationLimits;

export const verifyKeys = defineVerificationEndpoint({
  path: "/keys/verify-batch",
  operationId: "verifyKeys",
  summary: "Verify up to 100 keys",
  description:
    "Verifies each key independently, in the order of the request. Keys of one request can share limits and credits: each verification spends before the next one. A key that isn't valid, or a string that isn't a key, affects no other result. An invalid field, or a limit that neither a key nor its consumer has, fails the whole request, which then spends nothing; `issues` has the position. The request counts as one use of your API key.",
  request: {
    body: z
      .strictObject({ verifications: z.array(verificationRequest).min(1).max(maxVerifications) })
      .meta({ example: { verifications: [{ key: "acme_…" }, { key: "acme_…", cost: 5 }] } }),
  },
  response: {
    status: 200,
    description: "The results, in the order of the request.",
    schema: verificationResults,
  },
  errors: [],
  verifications: ({ verifications }) => verifications.map(toVerification),
  readCommon: readVerifications,
  format: (results) => `{"data":[${results.map(formatVerification).join()}]}`,
  pathOf: (verification) => `verifications.${verification}.`,
});
