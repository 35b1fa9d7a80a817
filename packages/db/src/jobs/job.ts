import type { DeliveryId, InvitationId, UserId, WorkspaceId } from "../ids.ts";

/**
 * The jobs that run outside of requests, and their payloads. A payload contains no secret: a job that emails a link
 * creates its token when it runs.
 */
export interface JobPayloads {
  readonly "send-invitation": {
    readonly workspaceId: WorkspaceId;
    readonly invitationId: InvitationId;
  };
  readonly "send-reset-link": {
    /** In lower case. It may have no account. */
    readonly email: string;
    /** Of the request. */
    readonly address: string | null;
    readonly requestId: string;
    /** Absent in jobs of earlier versions. */
    readonly userAgent?: string | null;
  };
  /** To the email address that the user has when the job runs. */
  readonly "send-verification-link": {
    readonly userId: UserId;
  };
  readonly "send-email-change": {
    readonly userId: UserId;
    /** The new email address, in lower case. */
    readonly email: string;
  };
  readonly "send-email-changed": {
    readonly userId: UserId;
    /** The former email address, in lower case. */
    readonly email: string;
  };
  /** Emails the notices of a user that are due. */
  readonly "send-notices": {
    readonly userId: UserId;
  };
  /** Creates the notice of an invitation, if an account has verified its email address. */
  readonly "notice-invitation": {
    readonly workspaceId: WorkspaceId;
    readonly invitationId: InvitationId;
  };
  /** Creates the notices that follow from what was recorded. Added once per minute, by one of the nodes. */
  readonly "find-notices": object;
  /** A worker of its own runs these jobs, so that receivers delay no email and no notice. */
  readonly "deliver-to-webhook": WebhookJob;
  /**
   * Another worker runs these jobs, so that slow receivers delay only each other. A job gets here when it runs as
   * `deliver-to-webhook` while its webhook is slow.
   */
  readonly "deliver-to-slow-webhook": WebhookJob;
}

interface WebhookJob {
  readonly workspaceId: WorkspaceId;
  readonly deliveryId: DeliveryId;
}

export type JobName = keyof JobPayloads;

/**
 * The functions that run jobs. A job whose function throws is tried again later.
 * @param jobId the same in each attempt of a job, and another one for each other job.
 */
export type JobTasks = {
  readonly [Name in JobName]: (payload: JobPayloads[Name], jobId: string) => Promise<void>;
};
