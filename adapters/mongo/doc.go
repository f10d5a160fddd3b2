// Package mongo keeps the records of Gatehouse in MongoDB 5.0 or newer, in the
// collections and fields of the Auth.js MongoDB adapter.
//
// Any deployment will do: a standalone server, a replica set, a sharded cluster
// whose collections are not sharded. Each promise rests on what the server
// decides for one document: a unique index, a find-and-update, a find-and-delete.
// A user is deleted before what the user owns, and no lookup finds an account, a
// session or an authenticator whose owner is gone: so all of it goes in one
// instant, and a repeated DeleteUser completes one that failed. Where there are
// transactions, CreateUserWithAccount and DeleteAuthenticator use one.
//
// IDs of users are ObjectIDs, which the adapter always assigns: an ID supplied
// to CreateUser is replaced. Call EnsureIndexes before first use, or CheckIndexes
// if a tool of your own makes them; uniqueness rests on them.
package mongo
