import { Button, Select } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useCallback } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Delivery, trpc, type Webhook } from "../../server/trpc.ts";
import { useGrowingList } from "../../server/use-growing-list.ts";
import { describeLogCount } from "../../ui/describe-results.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { GrowingTable } from "../../ui/growing-table.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { listPageSize } from "../../ui/table-search.ts";
import { TableToolbar } from "../../ui/table-toolbar.tsx";
import toolbarClasses from "../../ui/toolbar.module.css";
import { useTableNavigation } from "../../ui/use-table-navigation.ts";
import { deliveryColumns, titleOf } from "./delivery-columns.tsx";
import { useDeliveries } from "./use-webhooks.ts";
import {
  type DeliveriesSearch,
  defaultDeliverySort,
  deliveryStatusTitles,
  isDeliveryStatus,
} from "./webhooks-search.ts";

const route = getRouteApi("/app/w/$slug/webhooks/$webhookId");
const nouns = ["delivery", "deliveries"] as const;
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
  const list = useGrowingList(useDeliveries({ workspaceId, id }, search));
  const table = useTableNavigation<DeliveriesSearch>({
    navigate,
    page: 1,
    size: listPageSize,
    total: undefined,
  });
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
  const error = redelivery.error ? describeFailure(redelivery.error) : undefined;
  const count = list.items ? describeLogCount(list.items.length, list.hasMore, search, nouns) : "";
  const isEmpty = list.items?.length === 0 && !list.isStale && search.status === undefined;
  return (
    <Section title="Deliveries" isWide>
      {error && <FormFailure message={error.message} requestId={error.requestId} />}
      {!isEmpty && (
        <TableToolbar
          results={list.isStale ? "Loading…" : !list.failure && count}
          columns={deliveryColumns}
          search={search}
          onChooseColumns={table.chooseColumns}
        >
          <Select
            className={toolbarClasses.filter}
            aria-label="Status of deliveries"
            data={[
              anyStatus,
              ...Object.entries(deliveryStatusTitles).map(([value, label]) => ({ value, label })),
            ]}
            value={search.status ?? anyStatus.value}
            allowDeselect={false}
            onChange={(value) => table.change({ status: isDeliveryStatus(value) ? value : undefined })}
          />
        </TableToolbar>
      )}
      <GrowingTable
        label="Deliveries"
        list={list}
        failureTitle="Couldn’t load deliveries"
        columns={deliveryColumns}
        idOf={idOf}
        search={search}
        navigation={table}
        defaultSort={defaultDeliverySort}
        actions={actions}
        actionsWidth={112}
        count={count}
        empty={
          <p className={sectionClasses.note}>
            {search.status
              ? "No deliveries have this status."
              : "Nothing was sent to this webhook in the last 30 days. Send a test message to try it."}
          </p>
        }
      />
    </Section>
  );
}

function idOf({ id }: Delivery): string {
  return id;
}
