// Package mongo keeps the records of Gatehouse in MongoDB 5.0 or newer, in the
// collections and fields of the Auth.js MongoDB adapter.
//
// It works with a standalone server and a replica set, and with a sharded cluster
// if the collections are not sharded. Each promise rests on one operation on one
// document: a unique index, a find-and-update, a find-and-delete. A user is
// deleted before the records that the user owns, and no lookup finds a record
// without its owner: so all of them go in one instant, and a repeated DeleteUser
// completes one that failed. CreateUserWithAccount uses a transaction where the
// server has them.
//
// IDs of users are ObjectIDs, which the adapter always assigns: an ID supplied
// to CreateUser is replaced. Call EnsureIndexes before first use, or CheckIndexes
// if a tool of your own makes them; uniqueness rests on them.
package mongo
