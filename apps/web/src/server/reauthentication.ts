import type { AppRouter } from "@latchkey/api/router";
import type { IssueCode } from "@latchkey/errors";
import { TRPCClientError, type TRPCLink } from "@trpc/client";
import { observable } from "@trpc/server/observable";

/** Asks the user to authenticate again. Settles with whether they did. */
type AskForAuthentication = () => Promise<boolean>;

let ask: AskForAuthentication | undefined;
let asking: Promise<boolean> | undefined;

/** Sets the function that asks for authentication. Returns a function that removes it. */
export function onReauthentication(next: AskForAuthentication): () => void {
  ask = next;
  return () => {
    if (ask === next) ask = undefined;
  };
}

/** Concurrent calls that need authentication share one dialog. */
async function reauthenticate(): Promise<boolean> {
  asking ??= (ask ? ask() : Promise.resolve(false)).finally(() => {
    asking = undefined;
  });
  return await asking;
}

const required: IssueCode = "reauthentication_required";

/** Whether the user is asked to authenticate. The API has rejected the call that waits for this. */
export function isReauthenticating(): boolean {
  return asking !== undefined;
}

function isRequired({ data }: TRPCClientError<AppRouter>): boolean {
  const { issues } = (data ?? {}) as { readonly issues?: readonly { readonly code?: unknown }[] }; // The API's format.
  return issues?.some(({ code }) => code === required) ?? false;
}

/**
 * If the API rejects a call because the user authenticated too long ago, asks for the password, a passkey or a
 * confirmation at the OpenID provider, and repeats the call once. The call fails with the API's error if the user
 * cancels.
 */
export const reauthenticationLink: TRPCLink<AppRouter> =
  () =>
  ({ op, next }) =>
    observable((observer) => {
      let isClosed = false;
      let subscription = next(op).subscribe({
        next: (value) => observer.next(value),
        complete: () => observer.complete(),
        error: (error) => {
          if (!(error instanceof TRPCClientError) || !isRequired(error)) return observer.error(error);
          void reauthenticate().then((isConfirmed) => {
            if (isClosed) return;
            if (isConfirmed) subscription = next(op).subscribe(observer);
            else observer.error(error);
          });
        },
      });
      return () => {
        isClosed = true;
        subscription.unsubscribe();
      };
    });
