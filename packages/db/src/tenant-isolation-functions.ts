// Every start compares this with the database, and a test with a fresh one.

/** The functions by their signatures, with the digests of their definitions; every role may execute them. */
export const functions: Readonly<Record<string, string>> = {
  "add_issued_key_uses()": "f37f1d58bc0c72bf7acc434680c8605fb1301657a099c5829cf312ba96ba3513",
  "add_job(text,json,text,integer)": "fd137a306aa27ce6b35f64076254e766e4903bf4ab7283f2f7b94c66e37a53e9",
  "add_queued_job(text,json,text,integer,text)":
    "2b6a0a08fa372f813a86fe5e0c2c63204b1fa0d7714c7ff866bbca7c15c578db",
  "add_queued_jobs(text,json[],text[],integer,text)":
    "ee1a83ff179df80b89679db9fa5620fdc2b524998d461bd06f4a0e9ee4314a75",
  "add_workspace_usage(uuid[],timestamp with time zone[],uuid[],text[],bigint[])":
    "7feee4200380ac426edc2c445c2e76db9c1ab02484d1dfce2f6455a9b4805635",
  "bump_members()": "3a4a6334cc26db19adddb014537637ad6d515ce841537df090097bab3cfa1259",
  "bump_owner_with_factor()": "30824c07085f5b65ab4bede86f609d46938472691aa196bfebcb86757fa63a3d",
  "check_service_account_member()": "ce7a4bab7b76b464248e34b0a12c89ea73cb833d28ef2dfa67d4b4eeaedd35c8",
  "count_consumers()": "e2687b691c0020d191347bc38fcca94c20a981a41904759bc293eb652343dd5a",
  "count_issued_keys()": "4278a8a8b2891c3daff275ba9d087e9ca2039a2c8af551ccaef9012735d2a040",
  "count_jobs()": "2fd79dbc8e86c49d44767021e578d3815075d18f072104643d452e603292c309",
  "delete_counters_of_keys()": "6458eb4476475fd354272d36faefd84ebc7aab22f81f4033117e34d411e1510a",
  "delete_job_queues(text[])": "ad79638f12844e0a5c805e3b0e1871fa9b7a7d669363cabf864102b5536779df",
  "delete_records_of_user()": "2cd71e70a900a45c2d28618cadfa4f943a1c08ab057ca828b4061170ece5ef35",
  "has_job(text)": "15564dc7fc93af90db10be42d3ca44e21af7351b5194193f2d48648a9f96c067",
  "is_own_key(uuid)": "5341cecfb9a35cfd0922434de1283ffff72e8c7cd1a77b5ec4b10a79b0ae7299",
  "is_own_workspace(uuid)": "c5127f52781dcb7a6e96b8bf18a49d8e69124427923df71179bb8dd26765a4cc",
  "is_past_retention(uuid,timestamp with time zone)":
    "3d125a93fbadcf7d3cef4084ee51ad39f36d63fec0c92193d827802d16b82e37",
  "latest_refill(jsonb,timestamp with time zone)":
    "804ce87708c0fb20151391d3cf3c26b14cc59e2fb993081ebfdfa9129848b23d",
  "list_issued_key_permissions()": "e93e691b4fd20eee62c9bdf2eff0f29874d9d88b9112dd2980f5b980f11ec81e",
  "lock_issued_key_uses(uuid[])": "bac2ab273c903f7e35c532185a9a3f09342f917746a3df9c28baa7e95ac015d1",
  "move_queued_job(text,json,text,integer,text,integer)":
    "304ada2c78428538a468cba34bdbff8942cf5fda005a25d55b24c2eaa0e2d9a6",
  "name_first_user_operator()": "3b8ec86c1bd1208b0baf05a21ae7bbd9ec2bbe2f668a1899665f39174e68d99b",
  "named_user()": "ee9bf7796943630841b244a580a1eca01eb9f3643af1910fb54340c75e398766",
  "named_workspace()": "77161644bb223eaf4eb311c6958d4cc21c52826e0ed17db9c90908b94dd95b1a",
  "record_deleted_keyspace()": "507d562748f3cb62c193a2c1633b1a3e2963f83ccb55d44f0bb223dddd87a7ad",
  "record_deleted_webhook()": "5aac043c52ea0e04771cc9b52786249ff05ac377bc76b8aa0acb4f4e1b03c081",
  "record_deleted_workspace()": "2145d6ef5354d772573c1e3c14f6a10220a0d937fbd0218db3df414a0a780e37",
  "reject_outdated_batch()": "f0f2daf63ca4cad48ede5ca1bb7e310dc3cc776e5167e00175eb63de3a44ead7",
  "require_backup()": "f82b98b2342d95a42aca3bbb9834ecbaede624aa12579cd09c01f25465b6694c",
  "roll_up_added_usage()": "b79dfcd286866f47a4a133fb703b20c4bfdc907c15caf64c4582b81059ce2ac8",
  "roll_up_increased_usage()": "7f2b0eb2bb59532294c21e82a8abd9417eed965d9720854f6a753e0d772d1ab6",
};

interface TriggerRule {
  readonly table: string;
  /** What goes wrong without the trigger, as the rest of a sentence after ", so"; absent if it isolates tenants. */
  readonly consequence?: string;
}

const wrongNumbers = "the numbers of keys and consumers are wrong";
const wrongPermissions = "searches by permission return wrong keys";
const staleFactors = "nodes don't notice changes to second factors";
const acceptedDeletedKeys = "nodes keep accepting deleted keys";
const missingUsage = "usage that nodes of an earlier version report is missing from workspaces";

/** The triggers by their names. */
export const triggers: Readonly<Record<string, TriggerRule>> = {
  // Without it, the row of the key keeps the version that nodes remember, so that they find the key unchanged.
  add_issued_key_uses: {
    table: "key_counters",
    consequence: "nodes keep accepting issued keys that are disabled or changed",
  },
  bump_members: { table: "workspaces", consequence: staleFactors },
  bump_owner_with_passkey: { table: "passkeys", consequence: staleFactors },
  bump_owner_with_totp: { table: "totp_factors", consequence: staleFactors },
  check_service_account_member: { table: "members" },
  count_added_consumers: { table: "consumers", consequence: wrongNumbers },
  count_added_issued_keys: { table: "issued_keys", consequence: wrongNumbers },
  count_deleted_consumers: { table: "consumers", consequence: wrongNumbers },
  count_deleted_issued_keys: { table: "issued_keys", consequence: wrongNumbers },
  delete_counters_of_consumers: {
    table: "consumers",
    consequence: "counters of deleted consumers are never removed",
  },
  delete_counters_of_issued_keys: { table: "issued_keys", consequence: acceptedDeletedKeys },
  delete_counters_of_keys: { table: "api_keys", consequence: acceptedDeletedKeys },
  delete_records_of_user: {
    table: "users",
    consequence: "records of Idempotency-Keys stay when their user is deleted",
  },
  list_permissions_of_added_keys: { table: "issued_keys", consequence: wrongPermissions },
  list_permissions_of_changed_keys: { table: "issued_keys", consequence: wrongPermissions },
  list_permissions_of_deleted_keys: { table: "issued_keys", consequence: wrongPermissions },
  name_first_user_operator: {
    table: "users",
    consequence: "the first account doesn't become the operator",
  },
  record_deleted_keyspace: {
    table: "keyspaces",
    consequence: "nodes keep accepting the keys of deleted keyspaces",
  },
  record_deleted_webhook: {
    table: "webhooks",
    consequence: "the deliveries of deleted webhooks are never removed",
  },
  record_deleted_workspace: {
    table: "workspaces",
    consequence: "the audit events of deleted workspaces are never removed",
  },
  roll_up_added_usage: { table: "key_usage_hours", consequence: missingUsage },
  roll_up_increased_usage: { table: "key_usage_hours", consequence: missingUsage },
};
