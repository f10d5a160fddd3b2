// Serves the real @auth/mongodb-adapter. The database is named by the arguments:
// a URL and a name.
import { MongoDBAdapter } from "@auth/mongodb-adapter"
import { MongoClient } from "mongodb"
import { serve } from "../serve.mjs"

const [url, databaseName] = process.argv.slice(2)
const client = new MongoClient(url, { maxPoolSize: 4 })
await serve(MongoDBAdapter(client, { databaseName }))
await client.close()
