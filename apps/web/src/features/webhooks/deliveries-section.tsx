import { Button, Select } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Delivery, trpc, type Webhook } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { countOf } from "../../ui/count.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { ShowMore } from "../../ui/show-more.tsx";
import { deliveryColumns, titleOf } from "./delivery-columns.tsx";
import { useDeliveries } from "./use-webhooks.ts";
import { deliveryStatusTitles, isDeliveryStatus } from "./webhooks-search.ts";

const route = getRouteApi("/app/w/$slug/webhooks/$webhookId");
const anyStatus = { value: "any", label: "Any status" };

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
  const deliveries = useDeliveries({ workspaceId, id }, search);
  const failure = useLoadingFailure(deliveries);
  const redelivery = useMutation(
    trpc.webhooks.redeliver.mutationOptions({
      onSuccess: () => {
        notifications.show({ message: "The message is sent again." });
        return queryClient.invalidateQueries({ queryKey: trpc.webhooks.deliveries.pathKey() });
      },
    }),
  );
  const { mutate: redeliver, isPending } = redelivery;
  const actions = useCallback(
    (delivery: Delivery) => (
      <Button
        variant="subtle"
        color="gray"
        disabled={isDisabled || delivery.status === "pending"}
        aria-label={`Redeliver “${titleOf(delivery.action)}”`}
        onClick={() => !isPending && redeliver({ workspaceId, id, deliveryId: delivery.id })}
      >
        Redeliver
      </Button>
    ),
    [workspaceId, id, isDisabled, isPending, redeliver],
  );
  const shown = deliveries.data?.pages.flatMap(({ items }) => items);
  const error = redelivery.error ? describeFailure(redelivery.error) : undefined;
  return (
    <Section
      title="Deliveries"
      isWide
      action={
        <Select
          aria-label="Status of deliveries"
          data={[
            anyStatus,
            ...Object.entries(deliveryStatusTitles).map(([value, label]) => ({ value, label })),
          ]}
          value={search.status ?? anyStatus.value}
          allowDeselect={false}
          onChange={(value) =>
            void navigate({ search: isDeliveryStatus(value) ? { status: value } : {}, replace: true })
          }
        />
      }
    >
      {error && <FormFailure message={error.message} requestId={error.requestId} />}
      {failure ? (
        <FailurePanel
          title="Couldn’t load deliveries"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={deliveries.isFetching}
          onRetry={() => void deliveries.refetch()}
        />
      ) : shown?.length === 0 ? (
        <p className={sectionClasses.note}>
          {search.status
            ? "No deliveries have this status."
            : "Nothing was sent to this webhook in the last 30 days. Send a test message to try it."}
        </p>
      ) : (
        <>
          <DataTable
            label="Deliveries"
            columns={deliveryColumns}
            items={shown}
            isStale={deliveries.isPlaceholderData}
            idOf={idOf}
            chosen={undefined}
            actions={actions}
            actionsWidth={112}
          />
          {shown && (deliveries.hasNextPage || shown.length > 50) && (
            <ShowMore
              hasMore={deliveries.hasNextPage}
              isLoading={deliveries.isFetchingNextPage}
              failure={
                deliveries.isFetchNextPageError
                  ? `Couldn’t load more. ${describeFailure(deliveries.error).message}`
                  : undefined
              }
              onShowMore={() => void deliveries.fetchNextPage()}
            >
              {countOf(shown.length, "delivery", "deliveries")}
            </ShowMore>
          )}
        </>
      )}
    </Section>
  );
}

function idOf({ id }: Delivery): string {
  return id;
}
