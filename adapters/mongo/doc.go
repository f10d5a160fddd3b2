// Package mongo keeps the records of Gatehouse in MongoDB 5.0 or newer, in the
// collections and fields of the Auth.js MongoDB adapter.
//
// It works with a standalone server and a replica set, and with a sharded cluster
// if the collections are not sharded. The adapter keeps each promise by one
// operation on one document: an insert under a unique index, a find-and-update,
// or a find-and-delete. A user is deleted before the records that the user owns,
// and no lookup finds a record without its owner. So all of them disappear in one
// instant, and a repeated DeleteUser completes one that failed.
// CreateUserWithAccount uses a transaction where the server supports
// transactions.
//
// IDs of users are ObjectIDs, which the adapter always assigns: it replaces an ID
// that the caller of CreateUser supplies. Call EnsureIndexes before the first
// use, or CheckIndexes if your own tool makes the indexes. Without them no key is
// unique.
//
// The identifiers in brackets are [clauses] of the contract, which package adaptertest checks.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
package mongo
