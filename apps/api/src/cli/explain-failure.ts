import { BackupError, type BackupErrorKind } from "@latchkey/db/backup-error";
import { EmbeddedPostgresError } from "@latchkey/db/embedded-postgres-error";
import type { ErrorCode, Issue } from "@latchkey/errors";
import { describeDatabaseFailure } from "../database-server.ts";
import { EnvError } from "../env.ts";
import { translateFailure } from "../failure.ts";
import { NoInstanceError, StartError } from "../start-error.ts";
import { isSystemError, reasonOfSystemError, type SystemError } from "../system-error.ts";

/** A code of the closed list, and a message for the operator. */
export interface Explanation {
  readonly code: ErrorCode;
  readonly message: string;
}

export function explainFailure(error: unknown): Explanation {
  if (error instanceof NoInstanceError) return { code: "NOT_FOUND", message: error.message };
  if (error instanceof StartError) return { code: "SERVICE_UNAVAILABLE", message: error.message };
  if (error instanceof BackupError) return { code: backupCodes[error.kind], message: error.message };
  if (error instanceof EnvError) return { code: "BAD_REQUEST", message: error.message };
  if (error instanceof EmbeddedPostgresError) return { code: "SERVICE_UNAVAILABLE", message: error.message };
  const { code, message, issues, cause } = translateFailure(error);
  if (code === "INTERNAL_SERVER_ERROR" && isSystemError(error))
    return { code: "BAD_REQUEST", message: describeSystemError(error) };
  // Clients of the API don't see the reason for an outage, but the person who runs the command has to fix it.
  return { code, message: issues?.map(describeIssue).join(" ") ?? describeDatabaseFailure(cause) ?? message };
}

function describeSystemError(error: SystemError): string {
  const reason = reasonOfSystemError(error);
  const { path, syscall = "" } = error;
  return path === undefined
    ? `The operation "${syscall}" failed: ${reason}.`
    : `Can't access ${path}: ${reason}.`;
}

const backupCodes: Readonly<Record<BackupErrorKind, ErrorCode>> = {
  "damaged-file": "BAD_REQUEST",
  "newer-version": "CONFLICT",
  "unsuitable-schema": "CONFLICT",
  "unsuitable-login": "FORBIDDEN",
  "silent-database": "SERVICE_UNAVAILABLE",
  "database-not-empty": "CONFLICT",
  "database-in-use": "CONFLICT",
  "rejected-rows": "CONFLICT",
  "file-exists": "CONFLICT",
  "file-inaccessible": "BAD_REQUEST",
  "file-missing": "NOT_FOUND",
};

/** The option for each field that an error of the domain can name. The command line validates `--expires-in` itself. */
const options: Readonly<Record<string, string>> = {
  expiresAt: "--expires-at",
  workspaceIds: "--workspace",
  permissions: "--permission",
  isReadOnly: "--read-only",
  ipRanges: "--ip",
  url: "--url",
};

function describeIssue({ path, message }: Issue): string {
  if (path === "") return message;
  const [member = ""] = path.split(".");
  return `${options[member] ?? path}: ${message}`;
}
