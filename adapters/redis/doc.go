// Package redis keeps the records of Gatehouse in Redis 6.2 or later, on one
// server or a cluster.
//
// Redis has no transactions across cluster slots, and no unique keys beyond a
// single key. The adapter makes both of three ideas.
//
// Claims. An e-mail address belongs to whoever holds the key of the address, and
// the key names a claim that the user's own record must confirm. A user is
// written first as pending, then the address is reserved, then the record is
// confirmed; a change of address is an intent in the record, a reservation and
// the change. Whoever meets an unfinished step finishes it if the reservation
// was made, and ignores it if not. So a crash between any two commands leaves
// the old state or the new one, and a reservation without a confirming record
// blocks nobody and leads to nobody.
//
// Incarnations. Each user record has a random incarnation, and every account,
// session and authenticator names the incarnation of its owner. Deleting the
// user record therefore ends all of them at once; removing their keys is only
// cleaning up, and a later user under the same ID inherits nothing.
//
// Receipts. What creates, updates or spends a record carries a random value, its
// nonce, and leaves a receipt: a key beside the record, named after the nonce,
// that holds the answer for a minute. A command which the client repeats after a
// lost reply finds the receipt and returns that answer instead of writing again,
// whatever others have made of the record since. All other writes name what they
// replace or remove, and do nothing the second time. So the retries of go-redis
// are safe, and a verification token that was spent for a lost reply is handed to
// the call that spent it.
//
// Every script touches keys of one slot, but for a script that reads a record
// and its owner in one round trip on a single server; on a cluster that read
// takes two.
//
// What Redis can't promise: see the README. Above all, replication is
// asynchronous, so a failover can lose a write that was acknowledged.
package redis
