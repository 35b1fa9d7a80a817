import { getSystemErrorMessage } from "node:util";

/** The failure of a system call, such as reading a file or connecting. */
export type SystemError = Error & NodeJS.ErrnoException & { readonly code: string };

/** Whether an error comes from a system call, such as EACCES. Its message contains the path. */
export function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && "code" in error && typeof error.code === "string" && "syscall" in error;
}

/** Why a system call failed, without its name and the path, which Node adds to the message. */
export function reasonOfSystemError({ errno, message }: SystemError): string {
  return errno === undefined ? message : getSystemErrorMessage(errno);
}
