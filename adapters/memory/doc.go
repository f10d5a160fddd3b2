// Package memory keeps the records of Gatehouse in the memory of one process,
// for tests and for programs that may forget everything when they end.
//
// It keeps every promise of package auth/adapter within the process: keys are
// exact, single use is exact, deleting a user deletes all that is theirs, and
// no record is shared with the caller. Lookups do not block one another.
//
// It cannot promise anything beyond the process. A restart signs everybody
// out, and with two processes a verification token is single-use in each.
// Nothing is removed by itself: call DeleteExpired now and then.
package memory
