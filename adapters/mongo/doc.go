// Package mongo keeps the records of Gatehouse in MongoDB, or in a server that
// speaks its protocol, in the collections and fields of the Auth.js MongoDB
// adapter.
//
// No transaction is needed, so any deployment will do. Each promise rests on
// what a single-document write decides: a unique index, or the count of a
// delete. A verification token is spent by whoever deletes it. A user is deleted
// before what the user owns, and an account, session or authenticator whose
// owner is gone is not there: deleting what is left is only cleaning up, which
// a repeated DeleteUser completes.
//
// IDs of users are ObjectIDs, which the adapter always assigns: an ID supplied
// to CreateUser is replaced. Call EnsureIndexes before first use; uniqueness
// rests on it.
package mongo
