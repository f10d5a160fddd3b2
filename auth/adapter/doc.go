// Package adapter is the storage contract of Gatehouse: the five kinds of
// record, the nineteen methods that read and write them, and the errors by
// which a store says what went wrong.
//
// An adapter is any type that implements [Adapter]. Every method is optional:
// [Partial] lifts a value that has only some of them. What each method owes
// its caller is written in its doc comment; the identifiers in brackets, such
// as [VTOK-04], are clauses of the contract and the names of the subtests with
// which package adaptertest checks them.
//
// Four rules hold for every method and are not repeated below.
//
//   - A lookup without a match is (nil, nil). A non-nil error means that the
//     store failed; it comes with a nil record. [ERR-01] [ERR-03] [ERR-07]
//   - Strings are opaque and compared byte for byte, e-mail addresses at most
//     ASCII-case-insensitively. A key that the store cannot represent (not a
//     UUID, too long, empty, not UTF-8) is a miss. [USER-08] [INPUT-01] [INPUT-10]
//   - Instants are kept to the millisecond or better whatever zone they come
//     in, and are returned in UTC. [TIME-01] [TIME-02]
//   - Arguments are neither changed nor kept, results belong to the caller.
//     All methods are safe for concurrent use. A cancelled context ends the
//     call with the context's error. [ALIAS-01] [ALIAS-03] [CONC-13] [CTX-01]
//
// The package imports nothing but the standard library.
package adapter
