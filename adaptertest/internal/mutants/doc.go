// Package mutants tests the conformance suite: it holds broken adapters, each
// an otherwise correct one with a single fault, and names the clauses at which
// the suite must fail on it.
//
// There are two correct adapters to break: mem, over maps, and lite, which is
// adapters/sqlite over a database/sql driver that injects faults. A broken
// adapter replaces a few methods of one of them, or alters the statements that
// pass between lite and its database. MUTANTS.md lists all of them, and for
// each clause the ones that fail it.
//
// The package also asks the questions of Auth.js's own list of adapter tests,
// to tell how many of the same faults they notice.
package mutants
