import { TRPCClientError } from "@trpc/client";
import { useState } from "react";
import { describeFailure } from "./failure.ts";

/** Loads the library that calls the browser's WebAuthn API, when a passkey is needed for the first time. */
export async function loadPasskeyLibrary() {
  return await import("@simplewebauthn/browser");
}

interface PasskeyFailure {
  readonly message: string;
  readonly requestId?: string | undefined;
}

interface PasskeyUse {
  readonly isBusy: boolean;
  readonly failure: PasskeyFailure | undefined;
  readonly start: () => Promise<void>;
}

/** Runs a dialog of the browser about a passkey. Its calls use mutations, which report a server that doesn't respond. */
export function usePasskey(run: () => Promise<void>): PasskeyUse {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<PasskeyFailure>();
  return {
    isBusy,
    failure,
    async start() {
      setBusy(true);
      setFailure(undefined);
      try {
        await run();
      } catch (error) {
        setFailure(describePasskeyFailure(error));
      } finally {
        setBusy(false);
      }
    },
  };
}

export function describePasskeyFailure(error: unknown): PasskeyFailure {
  if (error instanceof TRPCClientError) return describeFailure(error);
  const name = error instanceof Error ? error.name : "";
  if (name === "InvalidStateError") return { message: "This device already has a passkey of your account." };
  // Browsers report a cancellation, a timeout and a missing passkey alike.
  return { message: "No passkey was used. Try again, or choose another way." };
}
