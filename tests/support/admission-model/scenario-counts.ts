/** How much was checked. A run without concurrent requests would prove little. */
export interface ScenarioCounts {
  admitted: number;
  rejected: number;
  /** Uses without a response, or with 503, which may have been counted. */
  unknown: number;
  /** Uses during a change, for which either decision was correct. */
  open: number;
  /** Successful changes by kind, without those that changed nothing. */
  creations: number;
  renamings: number;
  deletions: number;
  disablings: number;
  enablings: number;
  additions: number;
  roleChanges: number;
  removals: number;
  listings: number;
  /** Uses that exceeded their key's rate limit. */
  limited: number;
  /** Uses that were rejected only because of the key's restrictions or an old secret. */
  rejectedByKey: number;
  restrictions: number;
  rotations: number;
  revocations: number;
  clockSteps: number;
  /** Uses that the role decided. */
  admittedByRole: number;
  rejectedByRole: number;
  /** Changes to the workspace's policy, blocks of keys and their ends, and keys that were made idle. */
  policies: number;
  blocks: number;
  unblocks: number;
  idlePeriods: number;
  /** Uses that were rejected only because the workspace blocks the key, or because of its policy. */
  rejectedByWorkspace: number;
}

export const zeroCounts: Readonly<ScenarioCounts> = {
  admitted: 0,
  rejected: 0,
  unknown: 0,
  open: 0,
  creations: 0,
  renamings: 0,
  deletions: 0,
  disablings: 0,
  enablings: 0,
  additions: 0,
  roleChanges: 0,
  removals: 0,
  listings: 0,
  limited: 0,
  rejectedByKey: 0,
  restrictions: 0,
  rotations: 0,
  revocations: 0,
  clockSteps: 0,
  admittedByRole: 0,
  rejectedByRole: 0,
  policies: 0,
  blocks: 0,
  unblocks: 0,
  idlePeriods: 0,
  rejectedByWorkspace: 0,
};
