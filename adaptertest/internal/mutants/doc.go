// Package mutants tests the conformance suite. It has broken adapters, each of
// them a correct adapter with a single fault. For each it names the clauses that
// the adapter must fail.
//
// There are two correct adapters to break: mem, over maps, and lite, which is
// adapters/sqlite over a database/sql driver that injects faults. A broken
// adapter replaces a few methods of one of them, or alters the statements that
// pass between lite and its database. A file is named for a group of clauses and has the
// broken adapters whose first clause is of the group. The command cmd/mutants -list prints all
// of them, and for each clause the ones that fail it. TABLES.md has the measured tables: what
// only one clause notices, and what each harness notices.
//
// The package also has the adapter tests of Auth.js, as questions in Go, and
// counts how many of the same faults they notice.
package mutants
