// The tables that @auth/drizzle-adapter documents for MySQL.
// https://authjs.dev/getting-started/adapters/drizzle
import { bigint, boolean, datetime, int, mediumtext, mysqlTable, primaryKey, timestamp, varchar } from "drizzle-orm/mysql-core"

export const usersTable = mysqlTable("user", {
  id: varchar("id", { length: 255 }).primaryKey().$defaultFn(() => crypto.randomUUID()),
  name: varchar("name", { length: 255 }),
  email: varchar("email", { length: 255 }).unique(),
  emailVerified: timestamp("emailVerified", { mode: "date", fsp: 3 }),
  image: varchar("image", { length: 255 }),
})

export const accountsTable = mysqlTable("account", {
  userId: varchar("userId", { length: 255 }).notNull().references(() => usersTable.id, { onDelete: "cascade" }),
  type: varchar("type", { length: 255 }).notNull(),
  provider: varchar("provider", { length: 255 }).notNull(),
  providerAccountId: varchar("providerAccountId", { length: 255 }).notNull(),
  refresh_token: varchar("refresh_token", { length: 255 }),
  access_token: varchar("access_token", { length: 255 }),
  expires_at: int("expires_at"),
  token_type: varchar("token_type", { length: 255 }),
  scope: varchar("scope", { length: 255 }),
  id_token: varchar("id_token", { length: 2048 }),
  session_state: varchar("session_state", { length: 255 }),
}, (t) => [
  primaryKey({ columns: [t.provider, t.providerAccountId] }),
])

export const sessionsTable = mysqlTable("session", {
  sessionToken: varchar("sessionToken", { length: 255 }).primaryKey(),
  userId: varchar("userId", { length: 255 }).notNull().references(() => usersTable.id, { onDelete: "cascade" }),
  expires: timestamp("expires", { mode: "date" }).notNull(),
})

export const verificationTokensTable = mysqlTable("verificationToken", {
  identifier: varchar("identifier", { length: 255 }).notNull(),
  token: varchar("token", { length: 255 }).notNull(),
  expires: timestamp("expires", { mode: "date" }).notNull(),
}, (t) => [
  primaryKey({ columns: [t.identifier, t.token] }),
])

export const authenticatorsTable = mysqlTable("authenticator", {
  credentialID: varchar("credentialID", { length: 255 }).notNull().unique(),
  userId: varchar("userId", { length: 255 }).notNull().references(() => usersTable.id, { onDelete: "cascade" }),
  providerAccountId: varchar("providerAccountId", { length: 255 }).notNull(),
  credentialPublicKey: varchar("credentialPublicKey", { length: 255 }).notNull(),
  counter: int("counter").notNull(),
  credentialDeviceType: varchar("credentialDeviceType", { length: 255 }).notNull(),
  credentialBackedUp: boolean("credentialBackedUp").notNull(),
  transports: varchar("transports", { length: 255 }),
}, (t) => [
  primaryKey({ columns: [t.userId, t.credentialID] }),
])
