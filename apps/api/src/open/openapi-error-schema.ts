import {
  type ErrorCode,
  errorCatalog,
  type IssueCode,
  issueCatalog,
  maxIssues,
  maxMessageLength,
  maxPathLength,
} from "@latchkey/errors";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { shownText, shownUrl } from "../schemas.ts";

const issue = z
  .object({
    path: shownText(maxPathLength).meta({
      description: "The field (`name` or `items.0.id`), query parameter or header. Empty for the whole body.",
    }),
    code: z
      .enum(Object.keys(issueCatalog) as [IssueCode, ...IssueCode[]]) // The keys of the catalog are the codes.
      .meta({
        description: `The reason for the rejection. More codes may be added.\n\n${listOf(issueCatalog)}`,
      }),
    message: shownText(maxMessageLength).meta({ description: "Human-readable message. It may change." }),
  })
  .meta({ id: "Issue" });

/** The body of every error response. */
export const errorSchema = z
  .object({
    error: z.object({
      code: z.enum(Object.keys(errorCatalog) as [ErrorCode, ...ErrorCode[]]), // The keys of the catalog are the codes.
      message: shownText(maxMessageLength),
      requestId: shownText(maxLength.requestId).meta({
        description: "The response's `X-Request-Id`. Include it in support requests.",
      }),
      documentationUrl: shownUrl.meta({ description: "The page that explains the code." }),
      issues: z.array(issue).max(maxIssues).optional().meta({
        description:
          "With `BAD_REQUEST` and `UNPROCESSABLE_CONTENT`, the invalid fields, one issue per field, or a quota that is exceeded, with an empty `path`. With `CONFLICT`, the field that the current state doesn't allow, if there is one. With `FORBIDDEN`, the issue `workspace_disabled` if the workspace is disabled and nothing else is wrong; otherwise none.",
      }),
      omittedIssues: z.int().min(1).optional().meta({
        description: "Number of further issues. Present only if some are omitted.",
      }),
    }),
  })
  .meta({ id: "Error" });

function listOf(meanings: Readonly<Record<string, string>>): string {
  return Object.entries(meanings)
    .map(([code, meaning]) => `- \`${code}\`: ${meaning}`)
    .join("\n");
}
