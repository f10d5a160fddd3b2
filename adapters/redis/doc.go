// Package redis keeps the records of Gatehouse in Redis 6.2 or later, or in
// Valkey: on one server, behind Sentinel, or on a cluster.
//
// Users, addresses, accounts and authenticators are in one slot of a cluster, so
// that a script changes all that belongs together at once: every change of them
// is one script, and no half of it is ever seen. Sessions and verification
// tokens, which are most of the data, are spread over the slots.
//
// Each user has an incarnation, which is random, and each session names the
// incarnation of its user. So all sessions of a user are dead in the instant in
// which the user is deleted, wherever they are; to remove their keys is only
// cleaning up, and a later user under the same ID inherits nothing. The sessions
// of a user are listed beside the user.
//
// On one server a script reads and writes the session, the user and the list at
// once, and every method takes one round trip. On a cluster a script may touch
// one slot only and must be told all keys: a read of a session takes two round
// trips, and a write of a session lists it first.
//
// A write is sent once. If its reply is lost the call fails, and nobody knows
// whether it took effect; the retries of go-redis are for reads. A server that
// says that it did nothing, such as one that has just lost an election, is asked
// again until the context ends, or for ten seconds if it has no deadline.
//
// What Redis can't promise: see the README. Above all, replication is
// asynchronous, so a failover can lose a write that was acknowledged.
package redis
