import { expect, test } from "vitest";
import { toRotatedKeysFile } from "./rotated-keys-file.ts";

test("the file has one row per key, without formulas", () => {
  expect(
    toRotatedKeysFile([
      { id: "ikey_1", name: "Acme, Inc.", externalId: "customer_42", key: "sk_live_1" },
      { id: "ikey_2", name: "=1+1", externalId: null, key: "sk_live_2" },
    ]),
  ).toBe(
    "id,name,externalId,key\r\n" +
      'ikey_1,"Acme, Inc.",customer_42,sk_live_1\r\n' +
      'ikey_2,"\'=1+1",,sk_live_2\r\n',
  );
});
