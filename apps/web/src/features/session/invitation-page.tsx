import { Skeleton } from "@mantine/core";
import { useIsMutating, useMutation, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { withArticle } from "../../server/roles.ts";
import { type InvitationPreview, type Session, trpc, trpcClient } from "../../server/trpc.ts";
import { useEndSession } from "../../server/use-end-session.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { EitherForm, SignInForm, SignUpForm, useOpenWorkspace } from "./invitation-forms.tsx";
import { LinkFailure } from "./link-failure.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";
import { useDiscardSession, useEndedSession } from "./use-ended-session.ts";

/** Lets a person accept the invitation of a link, by signing in or signing up. */
export function InvitationPage(): ReactElement {
  const token = useLocation({ select: ({ hash }) => hash });
  const { data: current } = useSuspenseQuery(
    trpc.session.current.queryOptions(undefined, { staleTime: Infinity }),
  );
  // Not the cached session, which changes before the workspace opens.
  const [session, setSession] = useState(current);
  useEndedSession(() => setSession(null));
  const preview = useQuery({
    queryKey: ["invitation", token],
    queryFn: () => trpcClient.invitations.preview.mutate({ token }),
    enabled: token !== "",
    retry: false,
    staleTime: Infinity,
  });
  if (token === "" || preview.error) {
    return (
      <LinkFailure
        title="This invitation can’t be used"
        error={preview.error}
        isRetrying={preview.isFetching}
        onRetry={() => void preview.refetch()}
      >
        <Link to="/">{session ? "Go to your workspaces" : "Go to sign-in"}</Link>
      </LinkFailure>
    );
  }
  const invitation = preview.data;
  if (!invitation) {
    return (
      <SessionFrame title="Invitation" explanation={<Skeleton h={12} w={240} component="span" />}>
        <Skeleton h={120} />
      </SessionFrame>
    );
  }
  const { workspaceName, inviterName, role } = invitation;
  return (
    <SessionFrame
      title={`Join ${workspaceName}`}
      explanation={
        <>
          {inviterName === null ? (
            "You are invited"
          ) : (
            <>
              <bdi>{inviterName}</bdi> invited you
            </>
          )}{" "}
          to join as {withArticle(role)}.
        </>
      }
    >
      <Acceptance token={token} invitation={invitation} session={session} onSession={setSession} />
    </SessionFrame>
  );
}

interface AcceptanceProps {
  readonly token: string;
  readonly invitation: InvitationPreview;
  readonly session: Session | null;
  /** Called if the session has changed and the invitation was not accepted. */
  readonly onSession: (session: Session | null) => void;
}

function Acceptance({ token, invitation, session, onSession }: AcceptanceProps): ReactElement {
  const { email, hasAccount } = invitation;
  if (!session) {
    if (hasAccount === null) return <EitherForm token={token} email={email} onSession={onSession} />;
    return hasAccount ? (
      <SignInForm token={token} email={email} hasAccount onSession={onSession} />
    ) : (
      <SignUpForm token={token} email={email} />
    );
  }
  if (session.user.email !== email)
    return <OtherAccount email={email} ownEmail={session.user.email} onSession={onSession} />;
  return <JoinButton token={token} session={session} />;
}

function JoinButton({ token, session }: { readonly token: string; readonly session: Session }): ReactElement {
  const openWorkspace = useOpenWorkspace();
  const { user, workspaces } = session;
  const accept = useMutation(
    trpc.invitations.accept.mutationOptions({
      onSuccess: (joined) => openWorkspace({ ...session, workspaces: [...workspaces, joined] }, joined.slug),
    }),
  );
  const failure = accept.error ? describeFailure(accept.error) : undefined;
  return (
    <div className={classes.form}>
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <BusyButton loading={accept.isPending} onClick={() => accept.mutate({ token })}>
        Join
      </BusyButton>
      <p className={classes.other}>You are signed in as {user.email}.</p>
    </div>
  );
}

/** The signed-in user is not the person who was invited. */
function OtherAccount({
  email,
  ownEmail,
  onSession,
}: {
  readonly email: string;
  readonly ownEmail: string;
  readonly onSession: (session: null) => void;
}): ReactElement {
  const discardSession = useDiscardSession();
  const signOut = useEndSession(() => {
    discardSession();
    onSession(null);
  });
  const isSigningOut = useIsMutating({ mutationKey: trpc.session.signOut.mutationKey() }) > 0;
  return (
    <div className={classes.form}>
      <p>
        The invitation is for <strong>{email}</strong>, and you are signed in as <strong>{ownEmail}</strong>.
      </p>
      <BusyButton loading={isSigningOut} onClick={signOut}>
        Sign out and continue
      </BusyButton>
      <p className={classes.other}>
        <Link to="/">Go to your workspaces</Link>
      </p>
    </div>
  );
}
