import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Member, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import classes from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
import { Quoted } from "../../ui/quoted.tsx";

interface OfferOwnershipProps {
  readonly workspaceId: string;
  readonly member: Member;
  readonly onOffered: () => void;
}

/** Offers ownership to a member, instead of making them a second owner. */
export function OfferOwnership({ workspaceId, member, onOffered }: OfferOwnershipProps): ReactElement {
  const queryClient = useQueryClient();
  const offer = useMutation(
    trpc.ownership.offer.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.ownership.get.queryKey({ workspaceId }) });
        onOffered();
        notifications.show({
          message: (
            <>
              <Quoted>{member.name}</Quoted> has seven days to accept ownership.
            </>
          ),
        });
      },
    }),
  );
  const failure = offer.error ? describeFailure(offer.error) : undefined;
  return (
    <>
      <p className={classes.words}>
        To hand the workspace over instead, offer ownership. If <Quoted>{member.name}</Quoted> accepts, they
        become an owner and you become an admin.
      </p>
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <p className={classes.words}>
        <BusyButton
          variant="default"
          loading={offer.isPending}
          onClick={() => offer.mutate({ workspaceId, userId: member.userId })}
        >
          Offer ownership
        </BusyButton>
      </p>
    </>
  );
}
