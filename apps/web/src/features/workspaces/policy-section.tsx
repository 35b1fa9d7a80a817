import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Fragment, type ReactElement, useState } from "react";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type ApiKeyPolicy, type PolicyChanges, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { Choice, Choices } from "../../ui/choice.tsx";
import { countOf } from "../../ui/count.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { useLatestValues } from "../../ui/use-latest-values.ts";
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
  return (
    <Section title="API key policy">
      <QueryPanel query={query} failureTitle="Couldn’t load the policy" height={canManage ? 424 : 110}>
        {(policy) =>
          canManage ? (
            <div className={sectionClasses.box}>
              <PolicyForm workspace={workspace} policy={policy} />
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
  /** The latest policy. */
  readonly policy: ApiKeyPolicy;
}

/** Saves only if the policy still has the version that the user saw, and only what the user changed. */
function PolicyForm({ workspace, policy }: PolicyFormProps): ReactElement {
  const queryClient = useQueryClient();
  const query = trpc.workspaceKeys.policy.queryOptions({ workspaceId: workspace.id });
  const [changes, setChanges] = useState<PolicyChanges>();
  const form = useForm<PolicyValues>({
    name: "api-key-policy",
    mode: "controlled",
    initialValues: policyValuesOf(policy),
    validate: policyFormRules,
  });
  useUnsavedInput(form.isDirty);
  const { base, notice, clear, onError } = useConflict({
    noun: "API key policy",
    item: policy,
    load: () => queryClient.fetchQuery({ ...query, staleTime: 0 }),
    hasInput: form.isDirty,
    describe: describePolicy,
  });
  useLatestValues(form, policyValuesOf(base));
  const close = () => setChanges(undefined);
  const review = (values: PolicyValues) => {
    const changed = policyChangesBetween(base, values);
    clear();
    if (Object.keys(changed).length > 0) return setChanges(changed);
    form.reset();
    notifications.show({ message: "There are no changes to save." });
  };
  const showSaved = (saved: ApiKeyPolicy) => {
    clear(saved);
    form.setInitialValues(policyValuesOf(saved));
    form.reset();
  };
  return (
    <form
      className={classes.form}
      noValidate
      onReset={form.onReset}
      onSubmit={form.onSubmit(review, focusFirstError(form.getInputNode))}
    >
      {notice}
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
      <Button className={classes.submit} type="submit" variant="filled">
        Review and save
      </Button>
      <LazyDialog
        source={policyDialog}
        props={{
          workspace,
          policy: base,
          changes,
          isConflict: notice !== false,
          onSaved: showSaved,
          // The notice in the form reports a conflict.
          onRejected: async (error) => {
            if (await onError(error)) close();
          },
          onClose: close,
        }}
      />
    </form>
  );
}

/** The policy for those who can't change it. Their own keys must meet it too. */
function PolicyFacts({ policy }: { readonly policy: ApiKeyPolicy }): ReactElement {
  return (
    <dl className={sectionClasses.facts}>
      {Object.entries(describePolicy(policy)).map(([label, value]) => (
        <Fragment key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

function describePolicy(policy: ApiKeyPolicy) {
  const { isExpiryRequired, areIpRangesRequired, maxLifetimeDays, maxIdleDays } = policy;
  const days = (count: number) => countOf(count, "day", "days");
  return {
    Expiry:
      maxLifetimeDays === null
        ? isExpiryRequired
          ? "Required"
          : "Not required"
        : `Within ${days(maxLifetimeDays)}`,
    "IP ranges": areIpRangesRequired ? "Required" : "Not required",
    "Idle keys":
      maxIdleDays === null ? "Not rejected" : `Rejected after ${days(maxIdleDays)} without use here`,
  };
}
