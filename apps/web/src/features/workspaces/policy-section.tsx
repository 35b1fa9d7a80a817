import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type ApiKeyPolicy, type PolicyChanges, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { Choice, Choices } from "../../ui/choice.tsx";
import { countOf } from "../../ui/count.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { type PolicyValues, policyChangesBetween, policyFormRules, policyValuesOf } from "./policy-values.ts";
import classes from "./settings-form.module.css";

const policyDialog = {
  load: () => import("./policy-dialog.tsx").then((module) => module.PolicyDialog),
  closed: { changes: undefined },
};

interface PolicySectionProps {
  readonly workspace: SessionWorkspace;
  readonly canManage: boolean;
}

/** The policy of the workspace for API keys: a form for those who can change it, and a list for others. */
export function PolicySection({ workspace, canManage }: PolicySectionProps): ReactElement {
  const query = useQuery(trpc.workspaceKeys.policy.queryOptions({ workspaceId: workspace.id }));
  const keyOf = (version: number) => `${workspace.id} ${version}`;
  /** The React key of the form that is rendered after the user saves the policy. */
  const [savedKey, setSavedKey] = useState<string>();
  return (
    <Section title="API key policy">
      <QueryPanel query={query} failureTitle="Couldn’t load the policy" height={canManage ? 424 : 110}>
        {(policy) =>
          canManage ? (
            <div className={sectionClasses.box}>
              {/* Remounts when someone saved the policy, so that the form shows it. */}
              <PolicyForm
                key={keyOf(policy.version)}
                workspace={workspace}
                policy={policy}
                isJustSaved={keyOf(policy.version) === savedKey}
                onSaved={(version) => setSavedKey(keyOf(version))}
              />
            </div>
          ) : (
            <PolicyFacts policy={policy} />
          )
        }
      </QueryPanel>
    </Section>
  );
}

interface PolicyFormProps {
  readonly workspace: SessionWorkspace;
  readonly policy: ApiKeyPolicy;
  /** Whether this form replaced the one with which the user has just saved the policy, and takes its focus. */
  readonly isJustSaved: boolean;
  readonly onSaved: (version: number) => void;
}

function PolicyForm({ workspace, policy, isJustSaved, onSaved }: PolicyFormProps): ReactElement {
  const [changes, setChanges] = useState<PolicyChanges>();
  const button = useRef<HTMLButtonElement>(null);
  // The button that opened the dialog was removed with the previous form.
  useEffect(() => {
    if (isJustSaved) button.current?.focus();
  }, [isJustSaved]);
  const form = useForm<PolicyValues>({
    name: "api-key-policy",
    mode: "controlled",
    initialValues: policyValuesOf(policy),
    validate: policyFormRules,
  });
  useUnsavedInput(form.isDirty);
  const review = (values: PolicyValues) => {
    const changed = policyChangesBetween(policy, values);
    if (Object.keys(changed).length > 0) setChanges(changed);
    else notifications.show({ message: "There are no changes to save." });
  };
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(review, focusFirstError(form.getInputNode))}
    >
      <p className={sectionClasses.words}>
        What this workspace requires of every API key that reaches it, existing keys included. It rejects keys
        that don’t meet the policy; they keep their access to other workspaces.
      </p>
      <Choices label="Requirements">
        <Choice
          kind="checkbox"
          label="Require an expiry"
          help="Keys that never expire are rejected."
          isChosen={form.values.isExpiryRequired}
          onChoose={(isChosen) => form.setFieldValue("isExpiryRequired", isChosen)}
        />
        <Choice
          kind="checkbox"
          label="Require IP ranges"
          help="Keys that can be used from any IP address are rejected."
          isChosen={form.values.areIpRangesRequired}
          onChoose={(isChosen) => form.setFieldValue("areIpRangesRequired", isChosen)}
        />
      </Choices>
      <TextInput
        {...form.getInputProps("maxLifetimeDays")}
        label="Maximum lifetime, in days"
        description="From a key’s creation or last rotation to its expiry. Also rejects keys that never expire. Leave empty for no maximum."
        placeholder="Any"
        inputMode="numeric"
        autoComplete="off"
      />
      <TextInput
        {...form.getInputProps("maxIdleDays")}
        label="Maximum idle time, in days"
        description="A key that isn’t used here for this many days is rejected until an owner or admin unblocks it. Leave empty for no maximum."
        placeholder="Never"
        inputMode="numeric"
        autoComplete="off"
      />
      <Button ref={button} className={classes.submit} type="submit" variant="filled">
        Review and save
      </Button>
      <LazyDialog
        source={policyDialog}
        props={{ workspace, policy, changes, onSaved, onClose: () => setChanges(undefined) }}
      />
    </form>
  );
}

/** The policy for those who can't change it. Their own keys must meet it too. */
function PolicyFacts({ policy }: { readonly policy: ApiKeyPolicy }): ReactElement {
  const { isExpiryRequired, areIpRangesRequired, maxLifetimeDays, maxIdleDays } = policy;
  return (
    <dl className={sectionClasses.facts}>
      <dt>Expiry</dt>
      <dd>
        {maxLifetimeDays === null
          ? isExpiryRequired
            ? "Required"
            : "Not required"
          : `Within ${countOf(maxLifetimeDays, "day", "days")}`}
      </dd>
      <dt>IP ranges</dt>
      <dd>{areIpRangesRequired ? "Required" : "Not required"}</dd>
      <dt>Idle keys</dt>
      <dd>
        {maxIdleDays === null
          ? "Not rejected"
          : `Rejected after ${countOf(maxIdleDays, "day", "days")} without use here`}
      </dd>
    </dl>
  );
}
