import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Delivery, trpc, type Webhook } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import { NoMatch } from "../../ui/no-match.tsx";
import { Section } from "../../ui/section.tsx";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { deliveryColumns, titleOf } from "./delivery-columns.tsx";
import { TestMessageButton } from "./test-message-button.tsx";
import { useDeliveries } from "./use-webhooks.ts";
import { type DeliveriesSearch, defaultDeliverySort, deliveryStatusTitles } from "./webhooks-search.ts";

const route = getRouteApi("/app/w/$slug/webhooks/$webhookId");
const nouns = ["delivery", "deliveries"] as const;

interface DeliveriesSectionProps {
  readonly workspaceId: string;
  readonly webhook: Webhook;
}

/** The messages of the last 30 days that were sent to a webhook, with their attempts. */
export function DeliveriesSection({ workspaceId, webhook }: DeliveriesSectionProps): ReactElement {
  const { id, isDisabled } = webhook;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const queryClient = useQueryClient();
  const list = useGrowingList(useDeliveries({ workspaceId, id }, search));
  const table = useTableNavigation<DeliveriesSearch>({ navigate });
  const redelivery = useMutation(
    trpc.webhooks.redeliver.mutationOptions({
      onSuccess: () => {
        notifications.show({ message: "The message will be sent again." });
        return queryClient.invalidateQueries({ queryKey: trpc.webhooks.deliveries.pathKey() });
      },
    }),
  );
  const { mutate: redeliver, isPending } = redelivery;
  const actions = useCallback(
    (delivery: Delivery) => {
      const isEnabled = !isDisabled && delivery.status !== "pending";
      return (
        <Button
          variant="subtle"
          color="gray"
          // A disabled button would lose the focus when its message is sent again.
          aria-disabled={!isEnabled}
          {...(!isEnabled && { "data-disabled": true })}
          aria-label={`Redeliver “${titleOf(delivery.action)}”`}
          onClick={() => isEnabled && !isPending && redeliver({ workspaceId, id, deliveryId: delivery.id })}
        >
          Redeliver
        </Button>
      );
    },
    [workspaceId, id, isDisabled, isPending, redeliver],
  );
  const error = redelivery.error ? describeFailure(redelivery.error) : undefined;
  return (
    <Section title="Deliveries" isWide>
      {error && <FormFailure message={error.message} requestId={error.requestId} />}
      <GrowingTable
        label="Deliveries"
        filters={
          <FilterSelect
            label="Status of deliveries"
            anyLabel="Any status"
            options={deliveryStatusTitles}
            value={search.status}
            onChoose={(status) => table.change({ status })}
          />
        }
        list={list}
        nouns={nouns}
        total="log"
        isFiltered={search.status !== undefined}
        failureTitle="Couldn’t load deliveries"
        columns={deliveryColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultDeliverySort}
        actions={actions}
        actionsWidth={112}
        isTall
        empty={
          search.status ? (
            <NoMatch noun="delivery" level={3} onClear={() => table.change({ status: undefined })}>
              Choose another status.
            </NoMatch>
          ) : (
            <EmptyPanel
              title="No deliveries yet"
              level={3}
              action={
                <TestMessageButton
                  workspaceId={workspaceId}
                  webhook={webhook}
                  label="Try this webhook"
                  // The log replaces the button, which has the focus unless the user has opened a dialog.
                  onSent={() => {
                    if (document.activeElement?.closest("[role=dialog]")) return;
                    document.getElementById("content")?.focus({ preventScroll: true });
                  }}
                />
              }
            >
              Each message of the last 30 days appears here, with the response of the server. To try the
              webhook, send a test message.
            </EmptyPanel>
          )
        }
      />
    </Section>
  );
}

function idOf({ id }: Delivery): string {
  return id;
}
