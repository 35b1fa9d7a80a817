import { Button } from "@mantine/core";
import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { goToProvider } from "../../server/openid.ts";
import { trpc } from "../../server/trpc.ts";
import { FormFailure } from "../../ui/form-failure.tsx";

interface OpenidSignInProps {
  /** The page to open after the sign-in. */
  readonly next: string | undefined;
  /** The token of an invitation, with which a new user joins. */
  readonly invitation?: string;
}

/** Signs in or signs up with the OpenID provider. Absent if the instance has none. */
export function OpenidSignIn({ next = "/", invitation }: OpenidSignInProps): ReactElement | null {
  const { openidName } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const start = useMutation(
    trpc.session.startOpenid.mutationOptions({
      meta: { isSignIn: true },
      onSuccess: ({ url }) => {
        goToProvider(url, { use: "sign-in", next, invitation }, start.reset);
      },
    }),
  );
  if (openidName === null) return null;
  const failure = start.error ? describeFailure(start.error) : undefined;
  return (
    <>
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <Button
        variant="default"
        loading={start.isPending || start.isSuccess}
        onClick={() => start.mutate()}
      >{`Sign in with ${openidName}`}</Button>
    </>
  );
}
