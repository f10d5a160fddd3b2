// Lets adaptertest measure the real @auth/mongodb-adapter. The argument is the URL of the server. Each store is a database.
import { MongoDBAdapter } from "@auth/mongodb-adapter"
import { MongoClient } from "mongodb"
import { measure } from "../measure.mjs"

const client = await new MongoClient(process.argv[2], { maxPoolSize: 8 }).connect()

await measure({
  hello: {
    name: "@auth/mongodb-adapter",
    features: ["second", "reopen"],
    ids: "objectid",
    declarations: {
      assignsIDs: true,
      timeless: true,
      scans: "the adapter makes no indexes",
      noPooler: "the server has no pooler",
      lacks: ["Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  open: ({ store }) => ({ adapter: MongoDBAdapter(client, { databaseName: store }) }),
  drop: (store) => client.db(store).dropDatabase(),
})
