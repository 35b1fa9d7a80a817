import { Switch } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type NoticeSetting, trpc } from "../../server/trpc.ts";
import { Section } from "../../ui/section.tsx";
import classes from "./notices.module.css";

const kindTitles = {
  invitation: "Invitation to a workspace",
  "role-changed": "Your role changed",
  "key-expires-in-7-days": "API key expires within 7 days",
  "key-expires-in-1-day": "API key expires within 1 day",
  "former-secret-used": "Old secret used after its overlap",
  "new-network": "API key used from a new network",
  "new-device": "Sign-in from a new device",
  "quota-nearly-reached": "Quota nearly reached",
} as const satisfies Record<NoticeSetting["kind"], string>;

/** One switch per kind and channel. */
export function NoticeSettings(): ReactElement {
  const queries = useQueryClient();
  const settings = useQuery(trpc.notices.settings.queryOptions());
  const change = useMutation(
    trpc.notices.changeSetting.mutationOptions({
      onSettled: () => queries.invalidateQueries(trpc.notices.settings.queryFilter()),
    }),
  );
  return (
    <Section title="Notice settings">
      <QueryPanel query={settings} failureTitle="Couldn’t load the settings" height={400}>
        {({ kinds }) => (
          <div className={classes.box}>
            <table className={classes.settings}>
              <thead>
                <tr>
                  <th scope="col">Notice</th>
                  <th scope="col">In the app</th>
                  <th scope="col">By email</th>
                </tr>
              </thead>
              <tbody>
                {kinds.map((setting) => (
                  <tr key={setting.kind}>
                    <th scope="row">{kindTitles[setting.kind]}</th>
                    <td>
                      <Switch
                        aria-label={`${kindTitles[setting.kind]}, in the app`}
                        checked={setting.inApp}
                        disabled={change.isPending}
                        onChange={({ currentTarget: { checked } }) =>
                          change.mutate({ kind: setting.kind, inApp: checked })
                        }
                      />
                    </td>
                    <td>
                      <Switch
                        aria-label={`${kindTitles[setting.kind]}, by email`}
                        checked={setting.byEmail}
                        disabled={change.isPending}
                        onChange={({ currentTarget: { checked } }) =>
                          change.mutate({ kind: setting.kind, byEmail: checked })
                        }
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </QueryPanel>
      {change.isError && (
        <p className={classes.note} role="alert">
          Couldn’t change the setting. {describeFailure(change.error).message}
        </p>
      )}
      {settings.data && !settings.data.sendsEmail && (
        <p className={classes.note}>This instance doesn’t send email, so notices appear only in the app.</p>
      )}
    </Section>
  );
}
