import type { Generated } from "kysely";

/** What the nodes have in common. One row at most. */
export interface InstanceSettingsTable {
  is_only_row: Generated<boolean>;
  /** Whether the node that started last has an SMTP server. */
  sends_email: boolean;
}
