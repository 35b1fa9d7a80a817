import { Button, Skeleton } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, Suspense, useRef } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import classes from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { useLoaded } from "../../ui/use-loaded.ts";
import {
  describeExpiry,
  describeLimit,
  describePermissions,
  describeRanges,
  describeWorkspaces,
} from "./restrictions/describe-restrictions.ts";

// Loaded when the user changes restrictions, because most visits of the page only read them.
const restrictionEditForm = {
  load: () => import("./restrictions/restriction-edit-form.tsx").then((module) => module.RestrictionEditForm),
};
const app = getRouteApi("/app");
const route = getRouteApi("/app/account/api-keys/$keyId");

/** The restrictions of a key, and the form that edits them. */
export function RestrictionsSection({ apiKey }: { readonly apiKey: ApiKey }): ReactElement {
  const { workspaces } = app.useRouteContext().session;
  const { edit, field } = route.useSearch();
  const isEditing = edit === "restrictions";
  const navigate = route.useNavigate();
  const setEditing = (isOpen: boolean) =>
    navigate({
      search: ({ edit: _edit, field: _field, ...search }) => ({
        ...search,
        ...(isOpen && { edit: "restrictions" }),
      }),
      replace: true,
      resetScroll: false,
    });
  const RestrictionEditForm = useLoaded(restrictionEditForm, isEditing, () => void setEditing(false));
  const editButton = useRef<HTMLButtonElement>(null);
  const close = async () => {
    await setEditing(false);
    // Waits until the button is rendered again.
    setTimeout(() => editButton.current?.focus());
  };
  return (
    <Section
      title="Restrictions"
      isWide={isEditing}
      action={
        !isEditing && (
          <Button ref={editButton} variant="default" onClick={() => void setEditing(true)}>
            Edit restrictions
          </Button>
        )
      }
    >
      {isEditing ? (
        <div className={classes.box}>
          <Suspense fallback={<Skeleton h={320} />}>
            {RestrictionEditForm ? (
              <RestrictionEditForm apiKey={apiKey} field={field} onDone={() => void close()} />
            ) : (
              <Skeleton h={320} />
            )}
          </Suspense>
        </div>
      ) : (
        <dl className={classes.facts}>
          <dt>Expires</dt>
          <dd>{describeExpiry(apiKey.expiresAt)}</dd>
          <dt>Permissions</dt>
          <dd>{describePermissions(apiKey, apiKey.serviceAccount !== null)}</dd>
          {!apiKey.serviceAccount && (
            <>
              <dt>Workspaces</dt>
              <dd>
                <bdi>{describeWorkspaces(apiKey.workspaceIds, workspaces)}</bdi>
              </dd>
            </>
          )}
          <dt>IP ranges</dt>
          <dd>{describeRanges(apiKey.ipRanges)}</dd>
          <dt>Rate limit</dt>
          <dd>{describeLimit(apiKey.limit)}</dd>
        </dl>
      )}
    </Section>
  );
}
