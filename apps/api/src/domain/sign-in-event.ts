import type { UserId } from "@latchkey/db/ids";

/** A sign-in event, for the log. */
export type SignInEvent = { readonly address: string | null; readonly requestId: string } & (
  | { readonly kind: "signed-in" | "signed-up" | "second-factor-failed"; readonly userId: UserId }
  | {
      readonly kind: "sign-in-failed";
      readonly reason: "wrong-password" | "disabled" | "unknown-account" | "passkey" | "openid";
      /** Undefined for an email address without an account. */
      readonly userId: UserId | undefined;
    }
  /** A rejected sign-in without a password that is only counted. */
  | { readonly kind: "sign-in-rejected" }
  | {
      readonly kind: "openid-failed";
      /** A message of the provider or about the connection to it, without the data of a person. */
      readonly problem: string;
    }
  | {
      readonly kind: "sign-in-throttled" | "code-throttled" | "sign-up-throttled";
      readonly retryAfterSeconds: number;
    }
);
