// The tables of adapters/postgres for Drizzle. DrizzleAdapter(db, tables) uses the tables
// that EnsureSchema made.
import { bigint, boolean, json, pgTable, primaryKey, text, timestamp } from "drizzle-orm/pg-core"

const instant = (name) => timestamp(name, { mode: "date", withTimezone: true })

export const usersTable = pgTable("users", {
  id: text("id").primaryKey().$defaultFn(() => crypto.randomUUID()),
  name: text("name"),
  email: text("email").unique(),
  emailVerified: instant("emailVerified"),
  image: text("image"),
})

export const accountsTable = pgTable("accounts", {
  id: text("id").notNull().$defaultFn(() => crypto.randomUUID()),
  userId: text("userId").notNull().references(() => usersTable.id, { onDelete: "cascade" }),
  type: text("type").notNull(),
  provider: text("provider").notNull(),
  providerAccountId: text("providerAccountId").notNull(),
  refresh_token: text("refresh_token"),
  access_token: text("access_token"),
  expires_at: bigint("expires_at", { mode: "number" }),
  id_token: text("id_token"),
  scope: text("scope"),
  session_state: text("session_state"),
  token_type: text("token_type"),
  authorization_details: json("authorization_details"),
}, (t) => [primaryKey({ columns: [t.provider, t.providerAccountId] })])

export const sessionsTable = pgTable("sessions", {
  id: text("id").notNull().$defaultFn(() => crypto.randomUUID()),
  userId: text("userId").notNull().references(() => usersTable.id, { onDelete: "cascade" }),
  expires: instant("expires").notNull(),
  sessionToken: text("sessionToken").primaryKey(),
})

export const verificationTokensTable = pgTable("verification_token", {
  identifier: text("identifier").notNull(),
  expires: instant("expires").notNull(),
  token: text("token").notNull(),
}, (t) => [primaryKey({ columns: [t.identifier, t.token] })])

export const authenticatorsTable = pgTable("authenticators", {
  credentialID: text("credentialID").primaryKey(),
  userId: text("userId").notNull().references(() => usersTable.id, { onDelete: "cascade" }),
  providerAccountId: text("providerAccountId").notNull(),
  credentialPublicKey: text("credentialPublicKey").notNull(),
  counter: bigint("counter", { mode: "number" }).notNull(),
  credentialDeviceType: text("credentialDeviceType").notNull(),
  credentialBackedUp: boolean("credentialBackedUp").notNull(),
  transports: text("transports"),
  name: text("name"),
  created: instant("created"),
  lastUsed: instant("lastUsed"),
})

export const passwordsTable = pgTable("passwords", {
  userId: text("userId").primaryKey().references(() => usersTable.id, { onDelete: "cascade" }),
  hash: text("hash").notNull(),
  state: text("state").notNull(),
})
