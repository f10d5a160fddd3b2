// Package memory keeps the records of Gatehouse in the memory of one process,
// for tests and for programs that may forget everything when they end.
//
// It keeps every promise of package auth/adapter within the process: keys are
// exact, single use is exact, deleting a user deletes the user's accounts,
// sessions and authenticators, and no record is shared with the caller.
// Lookups do not block one another.
//
// It cannot promise anything beyond the process. A restart signs everybody
// out, and with two processes a verification token can be used once in each.
// No expired record is removed by itself: call DeleteExpired at intervals.
//
// The identifiers in brackets are [clauses] of the contract, which package adaptertest checks.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
package memory
