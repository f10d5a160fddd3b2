// Package growth breaks each bundled adapter so that a lookup reads every record, and tests that VOL-04 notices; and that
// it does not fail the correct adapters. The tests need the flag -runs, because they measure durations: make mutants-all
// runs them.
package growth
