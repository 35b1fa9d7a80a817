import { TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import type { ReactElement } from "react";
import { type AuditAction, actionTitles } from "../../server/action-titles.ts";
import { Choice, Choices } from "../../ui/choice.tsx";
import type { WebhookValues } from "./webhook-values.ts";
import classes from "./webhooks.module.css";

const allActions = Object.keys(actionTitles) as AuditAction[]; // The table's keys.

/** The fields of a webhook: where messages are sent, and for which events. */
export function WebhookFields({ form }: { readonly form: UseFormReturnType<WebhookValues> }): ReactElement {
  const { hasAllActions, actions } = form.values;
  return (
    <>
      <TextInput
        {...form.getInputProps("url")}
        label="URL"
        description="Messages are sent to this URL with POST. Use https://, unless the operator allows private networks."
        placeholder="https://example.com/webhooks"
        type="url"
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        required
        withAsterisk={false}
      />
      <TextInput
        {...form.getInputProps("description")}
        label="Description"
        description="What receives the messages. Optional."
        autoComplete="off"
        dir="auto"
      />
      <Choices label="Events" error={form.errors.actions}>
        <Choice
          kind="radio"
          name="events"
          label="All events, including future ones"
          isChosen={hasAllActions}
          onChoose={() => form.setFieldValue("hasAllActions", true)}
        />
        <Choice
          kind="radio"
          name="events"
          label="Selected events"
          isChosen={!hasAllActions}
          onChoose={() => form.setFieldValue("hasAllActions", false)}
        />
        {!hasAllActions && (
          <div className={classes.actions}>
            {allActions.map((action, place) => (
              <Choice
                key={action}
                kind="checkbox"
                label={actionTitles[action]}
                path={place === 0 ? "actions" : undefined}
                isChosen={actions.includes(action)}
                onChoose={(isChosen) =>
                  form.setFieldValue(
                    "actions",
                    allActions.filter((other) => (other === action ? isChosen : actions.includes(other))),
                  )
                }
              />
            ))}
          </div>
        )}
      </Choices>
    </>
  );
}
