import { z } from "zod";
import * as fields from "../fields.ts";

/** A time in ISO 8601, in UTC. */
export const timestamp = z.iso.datetime().meta({ example: "2026-03-01T09:30:00.000Z" });

/**
 * An address that we made ourselves. To take it apart again, as `z.url()` does to see that it is one, would take longer
 * than everything else about an answer.
 */
export const ownAddress = z.string().meta({ format: "uri" });

/** What an edit may be made from; the same as the `ETag`. */
export const version = z
  .int()
  .min(1)
  .meta({ description: "Moves with every change; the `ETag` of this resource.", example: 3 });

const workspaceIdExample = "ws_01h455vb4pex5vsknk084sn02q";
const userIdExample = "usr_01h455vb4pex5vsknk084sn02q";

/** Admission has read it already, and answered 403 for what is no workspace of the caller's. */
const workspaceId = z.string().meta({ example: workspaceIdExample });

/** A user's id in a path or a query. */
export const userId = fields.userId.meta({ example: userIdExample });

/** The parameters of a path in a workspace. */
export const inWorkspace = z.strictObject({ workspaceId });

/** The parameters of a path to a member. */
export const ofMember = z.strictObject({ workspaceId, userId });
