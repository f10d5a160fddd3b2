// Package stress has tests that can run for a long time: single use of tokens under random faults, and
// servers that are killed under load. By default they run with small numbers; make stress runs them in full
// and prints the results.
package stress
