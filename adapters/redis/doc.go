// Package redis keeps the records of Gatehouse in Redis 6.2 or later, or in
// Valkey: on one server, behind Sentinel, or on a cluster.
//
// Users, addresses, accounts and authenticators are in one slot of a cluster, so
// that one script can change several of these records at once. Every change of
// them is one script or command, and no call ever sees half of a change.
// Sessions and verification tokens, which are most of the data, are spread over
// the slots.
//
// Each user has an incarnation, which is random, and each session names the
// incarnation of its user. So all sessions of a user end in the instant in which
// the user is deleted, in every slot. Removing their keys is only cleaning up,
// and a later user with the same ID inherits none of them. A list of the user's
// sessions is in the user's slot.
//
// On one server a script reads and writes the session, the user and the list at
// once, and every method takes one round trip. On a cluster a script may touch
// one slot only, and all its keys must be declared. There a read of a session
// takes two round trips, and a write of a session adds it to the list first.
//
// A write is sent once. If its reply is lost, the call fails, and it is not
// known whether the write took effect; go-redis repeats reads only. If a server
// refuses a write without executing it, for example because it has just lost an
// election, the write is repeated until the context ends, or for ten seconds if
// the context has no deadline.
//
// The README says what Redis can't promise. The most important point:
// replication is asynchronous, so a failover can lose an acknowledged write.
//
// The identifiers in brackets are [clauses] of the contract, which package adaptertest checks.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
package redis
