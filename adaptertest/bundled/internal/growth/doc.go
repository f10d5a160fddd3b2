// Package growth tests clause VOL-04. It breaks each bundled adapter so that a lookup reads every record: the clause must
// fail for these adapters, and pass for the correct ones. Durations over a server or a file need a quiet machine, so go
// test alone judges the memory adapter only. With the flag -runs, as in make mutants-all, the tests judge all wirings.
package growth
